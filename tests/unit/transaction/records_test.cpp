// Which records concern what was named, where a folder holds those of other files, other users and other times.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/transaction/resolved_paths.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

/// Two files of one folder, edited in turn: a, b, a, b.
class Turns {
 public:
  explicit Turns(const JournalKey& key = own_key()) {
    for (std::uint32_t turn = 1; turn <= 4; ++turn) {
      const std::string& path = turn % 2 == 1 ? a : b;
      TransactionOptions options;
      options.key = key;
      commit(system_files(), {patch_edit(path, 8, noise(8, turn))}, {{path, "scaler", "scale", "1", "2"}}, options);
    }
  }
  [[nodiscard]] Scope scope(const std::string& path) const { return scope_of(system_files(), path, scratch.folder()); }

  Scratch scratch;
  std::string a = scratch.write("a.pt", noise(100, 11));
  std::string b = scratch.write("b.pt", noise(100, 12));
};

std::vector<std::uint64_t> numbers(const std::vector<HistoryEntry>& entries) {
  std::vector<std::uint64_t> found;
  for (const HistoryEntry& entry : entries) found.push_back(entry.number);
  return found;
}

using Numbers = std::vector<std::uint64_t>;

TEST_CASE("edits of other files stand between those of one, and each is told, undone and forgotten by itself") {
  const Turns turns;
  CHECK(numbers(history_of(turns.scope(turns.a))) == Numbers{1, 3});
  CHECK(numbers(history_of(turns.scope(turns.b))) == Numbers{2, 4});
  CHECK(numbers(history_of(turns.scope(turns.scratch.folder()))) == Numbers{1, 2, 3, 4});
  CHECK(undo(turns.scope(turns.a)).number == 3);
  CHECK(undo(turns.scope(turns.a)).number == 1);
  CHECK(bytes_of(turns.a) == noise(100, 11));
  CHECK(prune(turns.scope(turns.b)).records == 2);
  CHECK(numbers(history_of(turns.scope(turns.scratch.folder()))) == Numbers{1, 3});
}

TEST_CASE("records that somebody else sealed are counted, those of the files that are looked at") {
  const Turns turns(JournalKey(noise(JournalKey::size, 1)));
  const auto told = [&](const std::string& path) { return foreign_records(turns.scope(path))->message; };
  const std::string place = " of edits in " + turns.scratch.folder() + "/.tare ";
  for (const std::string& path : {turns.a, turns.b}) {
    CHECK(told(path) == "2 records" + place + "are not sealed with your key: undo passes them over");
  }
  CHECK(told(turns.scratch.folder()).starts_with("4 records" + place));
  std::filesystem::remove(turns.scratch.path(".tare/000004.edit"));
  CHECK(told(turns.b) == "1 record" + place + "is not sealed with your key: undo passes it over");
  std::filesystem::remove(turns.scratch.path(".tare/000002.edit"));
  CHECK_FALSE(foreign_records(turns.scope(turns.b)));
}

TEST_CASE("who may not read a file may not read what is on record of it, whichever group that is given to") {
  if (::geteuid() != 0) {
    WARN("only root gives files away: not tried");
    return;
  }
  struct Case {
    mode_t mode, on_record;
  };
  for (const auto& [mode, on_record] : {Case{0640, 0600}, Case{0644, 0604}, Case{0604, 0600}, Case{0600, 0600}}) {
    INFO("mode " << std::oct << mode);
    const Scratch scratch;
    const std::string path = scratch.write("scaler.pt", noise(100, 1));
    REQUIRE(::chown(path.c_str(), 0, ::getegid() + 1000) == 0);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    edit(path, 8, noise(8, 2), "1024.0", sealed());
    CHECK((stat_of(scratch.path(".tare/000001.edit")).st_mode & 0777) == on_record);
    undo(scope_of(system_files(), path, scratch.folder()));
    CHECK((stat_of(scratch.path(".tare/000001.undone")).st_mode & 0777) == on_record);
  }
}

TEST_CASE("a record that goes while the history is told is passed over") {
  const Turns turns;
  Numbers told;
  history(turns.scope(turns.scratch.folder()), [&](const HistoryEntry& entry) {
    told.push_back(entry.number);
    std::filesystem::remove_all(turns.scratch.path(".tare"));
  });
  CHECK(told == Numbers{1});
}

TEST_CASE("a file that lies in the root of the file system has that as its folder, whether it is there or not") {
  FileLayer& files = system_files();
  CHECK(resolved_path(files, "/dev") == "/dev");
  CHECK(resolved_path(files, "/absent-scaler.pt") == "/absent-scaler.pt");
  ResolvedPaths paths(files);
  for (const auto& [path, type] : {std::pair{"/dev", FileType::folder}, {"/absent-scaler.pt", FileType::absent}}) {
    CHECK(paths.of(path).path == path);
    CHECK(paths.of(path).type == type);
    CHECK_FALSE(paths.of(path).is_link);
  }
}

}  // namespace
}  // namespace tare::test
