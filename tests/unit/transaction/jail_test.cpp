// Journals and records of all kinds, most of them an enemy's, in a folder that stands among decoys: whatever is done
// with them, nothing outside the folder changes, nothing inside gets rights that it had not, and nothing waits for
// ever.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "lib/base/error.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

namespace fs = std::filesystem;

const dev_t endless_zeros = ::makedev(1, 5);  // /dev/zero; only who may make devices has it among the files
constexpr std::uint64_t sparse_bytes = 0xffffffff;

struct Seen {
  mode_t mode = 0;
  uid_t user = 0;
  nlink_t names = 0;
  std::int64_t mtime = 0;
  std::string content;  ///< of a file its bytes, of a link where it leads

  bool operator==(const Seen&) const = default;
};

using Sight = std::map<std::string, Seen>;

Seen seen_at(const fs::path& path) {
  const struct stat status = stat_of(path);
  Seen seen{status.st_mode,
            status.st_uid,
            status.st_nlink,
            status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
            {}};
  if (S_ISLNK(status.st_mode)) seen.content = fs::read_symlink(path).string();
  if (S_ISREG(status.st_mode)) seen.content = std::string(as_text(bytes_of(path)));
  return seen;
}

/// All below a folder but what is below `without`.
Sight sight_of(const std::string& folder, const std::string& without) {
  Sight all;
  for (auto at = fs::recursive_directory_iterator(folder); at != fs::recursive_directory_iterator(); ++at) {
    if (at->path() == without) {
      at.disable_recursion_pending();
    } else {
      all[at->path().string()] = seen_at(at->path());
    }
  }
  return all;
}

class Jail {
 public:
  Jail() {
    scratch_.write("outside/secret.pt", noise(100, 1));
    scratch_.write("outside/hard.pt", noise(100, 2));
    scratch_.write("outside/folder/deep.pt", noise(100, 3));
    ::chmod(scratch_.path("outside/secret.pt").c_str(), 04755);
    plant_outside();
    build();
    outside_ = sight_of(scratch_.folder(), ckpt());
  }

  [[nodiscard]] std::string ckpt() const { return scratch_.path("ckpt"); }
  [[nodiscard]] const Scratch& scratch() const { return scratch_; }
  [[nodiscard]] bool is_intact() const { return sight_of(scratch_.folder(), ckpt()) == outside_; }

  /// Of what stands in the folder beside `.tare`: no new name, no new right, no other owner.
  [[nodiscard]] bool is_modest() const {
    for (const auto& [path, now] : sight_of(ckpt(), ckpt() + "/.tare")) {
      const auto before = inside_.find(path);
      if (before == inside_.end() || before->second.user != now.user) return false;
      if ((now.mode & 07777 & ~before->second.mode) != 0) return false;
    }
    return true;
  }

  void build() {
    fs::remove_all(ckpt());
    for (const char* name : {"scaler.pt", "rank/b.pt", "setuid.pt", "gone/c.pt"})
      scratch_.write(inside(name), noise(100, 4));
    ::chmod(scratch_.path("ckpt/setuid.pt").c_str(), 04755);
    fs::create_directory_symlink("..", scratch_.path("ckpt/up"));
    fs::create_directory_symlink("../outside", scratch_.path("ckpt/side"));
    fs::create_symlink("../outside/secret.pt", scratch_.path("ckpt/link.pt"));
    fs::create_hard_link(scratch_.path("outside/hard.pt"), scratch_.path("ckpt/hard.pt"));
    ::mkfifo(scratch_.path("ckpt/pipe.pt").c_str(), 0644);
    ::mknod(scratch_.path("ckpt/socket.pt").c_str(), S_IFSOCK | 0644, 0);
    ::mknod(scratch_.path("ckpt/device.pt").c_str(), S_IFCHR | 0644, endless_zeros);
    fs::create_directory(scratch_.path("ckpt/.tare"));
    inside_ = sight_of(ckpt(), ckpt() + "/.tare");
  }

 private:
  /// A store that only a link leads to, with a journal that would count in the folder.
  void plant_outside() const {
    const Bytes now = noise(100, 4);
    Journal journal;
    journal.number = 1;
    journal.id = "outside";
    FileRecord file;
    file.name = "scaler.pt";
    file.mode = 0644;
    file.size_before = file.size_after = 100;
    file.swaps = {{0, noise(8, 9), Bytes(now.begin(), now.begin() + 8)}};
    journal.files = {file};
    for (const char* name : {"pending", "000001.edit"}) {
      scratch_.write(std::string("outside/store/") + name, encoded(journal, own_key()));
    }
  }

  static std::string inside(const std::string& name) { return "ckpt/" + name; }

  Scratch scratch_{"/dev/shm"};
  Sight outside_;
  Sight inside_;
};

constexpr std::array names = {"scaler.pt",
                              "rank/b.pt",
                              "setuid.pt",
                              "hard.pt",
                              "link.pt",
                              "pipe.pt",
                              "socket.pt",
                              "device.pt",
                              "absent.pt",
                              "side/absent.desktop",
                              "side/secret.pt",
                              "side/hard.pt",
                              "up/a.pt",
                              "up/outside/secret.pt",
                              "up/ckpt/scaler.pt",
                              "side/folder/deep.pt",
                              "../outside/hard.pt",
                              "/etc/passwd",
                              ".tare/pending",
                              "rank/.tare/x",
                              "rank",
                              "absent/folder/x.pt",
                              "./scaler.pt",
                              "rank/../x",
                              ".TARE/x",
                              ""};

class Enemy {
 public:
  explicit Enemy(const Jail& jail, std::uint32_t seed) : jail_(jail), random_(seed) {}

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  bool sometimes() { return below(3) == 0; }

  /// Plants a journal, and what goes with it; or something else under its name.
  void plant() {
    if (fs::is_symlink(store())) return;  // by which the enemy, too, would reach out
    if (below(6) == 0) return plant_oddity();
    Journal journal;
    journal.kind = sometimes() ? JournalKind::undo : JournalKind::edit;
    journal.number = sometimes() ? UINT64_MAX : below(9);
    journal.id = sometimes() ? "own" : "other";
    journal.when = {100 + below(5), 1};
    journal.edited = {100 + below(5), 2};
    for (std::uint32_t count = 1 + below(3); count > 0; --count) journal.files.push_back(record());
    for (std::size_t i = 0; i < journal.files.size(); ++i) plant_parts(journal, i);
    Bytes bytes = encoded(journal, key());
    if (below(10) == 0) bytes[below(static_cast<std::uint32_t>(bytes.size()))] ^= std::byte{1};
    put(".tare/" + place(), bytes, 0644);
  }

 private:
  JournalKey key() {
    const std::uint32_t which = below(3);
    return which == 0 ? own_key() : which == 1 ? JournalKey(noise(JournalKey::size, 1)) : JournalKey();
  }

  std::string place() {
    constexpr std::array places = {"pending",
                                   "pending",
                                   "000001.edit",
                                   "000002.edit",
                                   "000002.undone",
                                   "999999999.edit",
                                   "18446744073709551615.edit",
                                   "1.edit",
                                   "000000.edit",
                                   "x.old.0",
                                   "../pending"};
    return places[below(places.size())];
  }

  [[nodiscard]] std::string store() const { return jail_.ckpt() + "/.tare"; }

  /// What is no file, or more than one would read, where a journal is looked for.
  void plant_oddity() {
    const std::string name = place();
    if (name.find("..") != std::string::npos) return;
    const std::string at = store() + "/" + name;
    fs::create_directories(store());
    fs::remove_all(at);
    switch (below(8)) {
      case 0:
        ::mkfifo(at.c_str(), 0644);
        return;
      case 1:
        ::mknod(at.c_str(), S_IFSOCK | 0644, 0);
        return;
      case 2:
        ::mknod(at.c_str(), S_IFCHR | 0644, endless_zeros);
        return;
      case 3:
        put(".tare/" + name, bytes_of(jail_.scratch().path("outside/store/pending")), 0644);
        fs::resize_file(at, sparse_bytes);
        return;
      case 4:
        fs::create_symlink("../../outside/store/pending", at);
        return;
      case 5:
        fs::create_hard_link(jail_.scratch().path("ckpt/setuid.pt"), at);
        return;
      case 6:
        fs::create_directory(at);
        return;
      default:
        fs::remove_all(store());
        fs::create_directory_symlink("../outside/store", store());
    }
  }

  void put(const std::string& name, const Bytes& bytes, mode_t mode) {
    const std::string path = jail_.scratch().path("ckpt/" + name);
    if (name.find("..") != std::string::npos || fs::is_directory(fs::symlink_status(path))) return;
    fs::remove(path);  // not into a pipe, nor by a link
    jail_.scratch().write("ckpt/" + name, bytes);
    ::chmod(path.c_str(), mode);
  }

  /// As it might stand in a genuine journal, or nearly.
  FileRecord record() {
    FileRecord file;
    file.name = names[below(names.size())];
    file.write_method = sometimes() ? WriteMethod::in_place : WriteMethod::rewritten;
    file.mode = sometimes() ? 04755 : 0644;
    file.size_before = file.size_after = 100;
    file.mtime_before = file.mtime_after = {5, 6};
    const std::string at = jail_.scratch().path("ckpt/" + file.name);
    const bool is_file = !file.name.empty() && fs::is_regular_file(at) && fs::file_size(at) == 100 && !sometimes();
    const Bytes now = is_file ? bytes_of(at) : noise(100, 4);
    const std::uint32_t offset = below(80);
    const auto from = now.begin() + offset;
    Swap swap{offset, noise(8, below(50)), Bytes(from, from + 8)};
    if (sometimes()) std::swap(swap.before, swap.after);
    if (file.write_method == WriteMethod::rewritten && sometimes()) {
      swap.before = swap.before.part(0, 3);
      file.size_before -= 5;
    }
    file.swaps = {swap};
    if (file.write_method == WriteMethod::in_place && sometimes()) {
      file.tail = noise(20, 1);
      (sometimes() ? file.size_after : file.size_before) += 20;
    }
    if (below(20) == 0) file.size_after = UINT64_MAX;
    return file;
  }

  void plant_parts(const Journal& journal, std::size_t index) {
    const FileRecord& file = journal.files[index];
    if (file.write_method != WriteMethod::rewritten || file.swaps.empty()) return;
    for (const char* what : {"old", "new"}) {
      if (sometimes()) continue;
      Bytes bytes = noise(file.size_before < 200 ? file.size_before : 100, 4);
      const SharedBytes& shown = *what == 'o' ? file.swaps[0].before : file.swaps[0].after;
      const auto room = static_cast<std::size_t>(file.swaps[0].offset);
      if (room + shown.size() <= bytes.size()) {
        std::copy(shown.begin(), shown.end(), bytes.begin() + static_cast<std::ptrdiff_t>(room));
      }
      const std::string name = std::to_string(journal.number) + "-" + hex(journal.when.tv_sec) + "-" +
                               hex(journal.when.tv_nsec) + "." + what + "." + std::to_string(index);
      put(".tare/" + name, bytes, sometimes() ? 04755 : 0644);
    }
  }

  static std::string hex(long value) {
    char text[20];
    std::snprintf(text, sizeof text, "%lx", static_cast<unsigned long>(value));
    return text;
  }

  const Jail& jail_;
  std::mt19937 random_;
};

/// What a user may do in such a folder.
void act(const Jail& jail, Enemy& enemy) {
  FileLayer& files = system_files();
  RecoverOptions recovery;
  recovery.trust_journals = enemy.sometimes();
  const Scope scope = scope_of(files, jail.ckpt(), jail.scratch().folder());
  switch (enemy.below(6)) {
    case 0:
      find_pending(scope);
      return;
    case 1:
      history_of(scope);
      return;
    case 2:
      recover(scope, recovery);
      return;
    case 3:
      prune(scope, recovery);
      return;
    case 4: {
      TransactionOptions options = sealed({.upper = jail.scratch().folder(), .recovery = recovery});
      edit(jail.scratch().path("ckpt/scaler.pt"), 8, noise(8, enemy.below(9)), "1", options);
      return;
    }
    default: {
      UndoOptions options;
      options.recovery = recovery;
      if (enemy.below(9) == 0) options.id = "other";
      undo(scope, options);
    }
  }
}

std::uint32_t journal_count() {
  const char* wanted = std::getenv("TARE_TEST_JOURNALS");
  return wanted == nullptr ? 3000 : static_cast<std::uint32_t>(std::strtoul(wanted, nullptr, 10));
}

TEST_CASE("no journal reaches out of its folder, nor gives rights, whoever sealed it and whoever trusts it") {
  Jail jail;
  Enemy enemy(jail, 20);
  std::map<Status, int> outcomes;
  for (std::uint32_t number = 0; number < journal_count(); ++number) {
    INFO("journal " << number);
    if (number % 8 == 0) jail.build();
    for (std::uint32_t count = 1 + enemy.below(3); count > 0; --count) enemy.plant();
    Status outcome = Status::ok;
    try {
      act(jail, enemy);
    } catch (const Error& error) {
      outcome = error.status;
    }
    ++outcomes[outcome];
    REQUIRE(jail.is_intact());
    REQUIRE(jail.is_modest());
  }
  CHECK(outcomes[Status::ok] > 100);
  CHECK(outcomes[Status::refused] > 100);
}

}  // namespace
}  // namespace tare::test
