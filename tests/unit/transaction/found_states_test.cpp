// In which states the parts of a file may be found after a crash, all pairs of them: recovery brings back what the edit
// has written, and leaves alone what somebody else has.
#include "lib/base/error.hpp"
#include "lib/transaction/apply.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/transaction/scene.hpp"

namespace tare::test {
namespace {

constexpr const char* target = "/run/ckpt/scaler.pt";

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes first_of(Bytes bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}

/// What is found at one place of the file, and whether the edit can have left it so.
struct Part {
  const char* name;
  Bytes bytes;
  FileState state;
};

/// Bytes that are exchanged.
std::vector<Part> exchanged(std::uint32_t seed) {
  const Bytes old = noise(6, seed);
  const Bytes fresh = noise(6, seed + 1);
  Bytes torn = old;
  torn[0] = fresh[0];
  Bytes strange = old;
  strange[5] = static_cast<std::byte>(0xff) ^ (old[5] & fresh[5]);
  return {{"old", old, FileState::before},
          {"new", fresh, FileState::after},
          {"torn", torn, FileState::between},
          {"somebody else's", strange, FileState::foreign}};
}

/// Bytes behind the smaller size, of which `there` is the state with all of them.
std::vector<Part> ends(FileState there, FileState not_there) {
  const Bytes tail = noise(30, 5);
  return {{"no end", {}, not_there},
          {"the end", tail, there},
          {"half an end", first_of(tail, 15), FileState::between},
          {"an end that is not written yet", first_of({}, 30), FileState::between},
          {"a longer end", joined({tail, noise(1, 6)}), FileState::foreign}};
}

FileState of_pair(FileState a, FileState b) {
  // By row: before, after, between, foreign. One that is strange makes the whole strange, whatever the other is.
  constexpr FileState table[4][4] = {
      {FileState::before, FileState::between, FileState::between, FileState::foreign},
      {FileState::between, FileState::after, FileState::between, FileState::foreign},
      {FileState::between, FileState::between, FileState::between, FileState::foreign},
      {FileState::foreign, FileState::foreign, FileState::foreign, FileState::foreign},
  };
  return table[static_cast<int>(a)][static_cast<int>(b)];
}

/// An edit in place of bytes at 20 and 40, and perhaps of the end, that was interrupted: the file holds `found`.
struct Found {
  Found(std::uint64_t size_before, std::uint64_t size_after, const Bytes& found, const JournalKey& key = own_key()) {
    disk.add_folder("/run");
    disk.add_folder(home);
    disk.add_folder("/run/ckpt/.tare");
    record.name = "scaler.pt";
    record.mode = 0644;
    record.size_before = size_before;
    record.size_after = size_after;
    const auto first = exchanged(1);
    const auto second = exchanged(3);
    record.swaps = {{20, first[0].bytes, first[1].bytes}, {40, second[0].bytes, second[1].bytes}};
    if (size_before != size_after) record.tail = noise(30, 5);
    record.witness = {60, 60, 30, 0};
    disk.add_file(target, with(first[0].bytes, second[0].bytes, {}));
    record.witness.crc = witness_crc(opened(), record, 60);
    disk.overwrite(target, found);
    plant(key);
  }

  /// Leaves the journal of an interrupted edit that is the record.
  void plant(const JournalKey& key) {
    const std::string pending = "/run/ckpt/.tare/pending";
    Journal journal;
    journal.number = 1;
    journal.id = "0123456789ab";
    journal.files = {record};
    if (!disk.has(pending)) disk.add_file(pending, {});
    disk.overwrite(pending, encoded(journal, key));
  }

  /// The file with these at their places.
  static Bytes with(const Bytes& first, const Bytes& second, const Bytes& end) {
    return joined({noise(20, 7), first, noise(14, 8), second, noise(54, 9), end});
  }
  OpenFile opened() { return place_of(disk, target)->open(O_RDONLY); }

  SimulatedDisk disk;
  FileRecord record;
};

void check_recovery(Found& world, const Bytes& found, const Bytes& old, FileState state) {
  CHECK(file_state(world.opened(), world.record) == state);
  const bool is_strange = state == FileState::foreign;
  CHECK(status_of([&] { recover(scope_of(world.disk, home)); }) == (is_strange ? Status::refused : Status::ok));
  CHECK(world.disk.bytes(target) == (is_strange ? found : old));
  CHECK(world.disk.has("/run/ckpt/.tare/pending") == is_strange);
}

TEST_CASE("recovery overwrites a file only where every changed place holds old or new bytes, by all pairs of places") {
  const Bytes old = Found::with(exchanged(1)[0].bytes, exchanged(3)[0].bytes, {});
  for (const Part& first : exchanged(1)) {
    for (const Part& second : exchanged(3)) {
      INFO(first.name << " bytes at the first place, " << second.name << " at the second");
      const Bytes found = Found::with(first.bytes, second.bytes, {});
      Found world(100, 100, found);
      check_recovery(world, found, old, of_pair(first.state, second.state));
    }
  }
}

TEST_CASE("recovery overwrites a file only where its end is old, new or partly written, by all pairs with its bytes") {
  struct Case {
    std::uint64_t before, after;
    std::vector<Part> ends;
    Bytes old_end;
  };
  const std::vector<Case> cases = {{100, 130, ends(FileState::after, FileState::before), {}},
                                   {130, 100, ends(FileState::before, FileState::after), noise(30, 5)}};
  const Bytes second = exchanged(3)[0].bytes;
  for (const auto& [before, after, all, old_end] : cases) {
    const Bytes old = Found::with(exchanged(1)[0].bytes, second, old_end);
    for (const Part& first : exchanged(1)) {
      for (const Part& end : all) {
        INFO(before << " bytes become " << after << "; " << first.name << " bytes, " << end.name);
        const Bytes found = Found::with(first.bytes, second, end.bytes);
        Found world(before, after, found);
        const FileState bytes = of_pair(first.state, FileState::before);
        check_recovery(world, found, old, of_pair(bytes, end.state));
      }
    }
  }
}

TEST_CASE("recovery leaves a file alone that is shorter, longer, or another one where the edit changed nothing") {
  const Bytes old = Found::with(exchanged(1)[0].bytes, exchanged(3)[0].bytes, {});
  Bytes other = old;
  other[75] ^= std::byte{1};
  for (const Bytes& found : {first_of(old, 99), first_of(old, 101), first_of(old, 0), other}) {
    INFO(found.size() << " bytes");
    Found world(100, 100, found);
    check_recovery(world, found, old, FileState::foreign);
  }
}

TEST_CASE("what a stranger's journal would write is announced as it comes: old bytes, and the old size") {
  const JournalKey stranger(noise(JournalKey::size, 1));
  const Bytes old = Found::with(exchanged(1)[0].bytes, exchanged(3)[0].bytes, {});
  const Bytes found = Found::with(exchanged(1)[1].bytes, exchanged(3)[1].bytes, noise(30, 5));
  Found world(100, 130, found, stranger);
  std::vector<std::string> lines;
  RecoverOptions options;
  options.announce = [&](const std::string& line) {
    CHECK(world.disk.bytes(target) == found);  // before anything is written
    lines.push_back(line);
  };
  CHECK(status_of([&] { recover(scope_of(world.disk, home), options); }) == Status::refused);
  CHECK(lines.empty());
  CHECK(world.disk.bytes(target) == found);
  options.trust_journals = true;
  CHECK(recover(scope_of(world.disk, home), options).size() == 1);
  CHECK(lines == std::vector<std::string>{"/run/ckpt/scaler.pt: 6 bytes at offset 20",
                                          "/run/ckpt/scaler.pt: 6 bytes at offset 40",
                                          "/run/ckpt/scaler.pt: 130 bytes become 100"});
  CHECK(world.disk.bytes(target) == old);
}

TEST_CASE("undoing what a stranger's record says is announced as it comes: old bytes, and the old size") {
  Scene scene = all_scenes()[1];  // four bytes, and an end that is added
  const auto old = states(scene.disk, scene.edits);
  TransactionOptions others;
  others.key = JournalKey(noise(JournalKey::size, 1));
  commit(scene.disk, scene.edits, {}, others);
  UndoOptions options;
  std::vector<std::string> lines;
  options.recovery.announce = [&](const std::string& line) { lines.push_back(line); };
  CHECK(status_of([&] { undo(scope_of(scene.disk, home), options); }) == Status::refused);
  CHECK(lines.empty());
  options.recovery.trust_journals = true;
  undo(scope_of(scene.disk, home), options);
  CHECK(lines == std::vector<std::string>{"/run/ckpt/scaler.pt: 4 bytes at offset 100",
                                          "/run/ckpt/scaler.pt: 1798 bytes become 1000"});
  CHECK(all_old(scene.disk, old));
}

TEST_CASE("what a stranger's record would write anew is announced with its size, and from where on it differs") {
  Scene scene = scene_named("splice");
  const auto old = states(scene.disk, scene.edits);
  const FileEdit& edit = scene.edits[0];
  TransactionOptions others;
  others.key = JournalKey(noise(JournalKey::size, 1));
  commit(scene.disk, scene.edits, {}, others);
  UndoOptions options;
  std::vector<std::string> lines;
  options.recovery.announce = [&](const std::string& line) { lines.push_back(line); };
  options.recovery.trust_journals = true;
  undo(scope_of(scene.disk, home), options);
  CHECK(lines == std::vector<std::string>{
                     edit.path + ": the whole file, of " + std::to_string(old.at(edit.path).bytes.size()) +
                     " bytes, which differ from offset " + std::to_string(edit.change.splice->offset) + " on"});
  CHECK(all_old(scene.disk, old));
}

TEST_CASE("recovery looks at the places behind one that the edit leaves as it is") {
  const Bytes same = exchanged(1)[0].bytes;
  for (const Part& second : exchanged(3)) {
    INFO(second.name << " bytes at the second place");
    const Bytes found = Found::with(same, second.bytes, {});
    Found world(100, 100, found);
    world.record.swaps[0].after = same;
    world.plant(own_key());
    check_recovery(world, found, Found::with(same, exchanged(3)[0].bytes, {}), second.state);
  }
}

TEST_CASE("trust in journals is trust in those of the folder that is named, and not in those above it") {
  const JournalKey stranger(noise(JournalKey::size, 1));
  const Bytes old = Found::with(exchanged(1)[0].bytes, exchanged(3)[0].bytes, {});
  const Bytes found = Found::with(exchanged(1)[1].bytes, exchanged(3)[1].bytes, {});
  Found world(100, 100, found, stranger);
  world.disk.remove("/run/ckpt/.tare/pending");
  Journal above;
  above.number = 1;
  above.id = "0123456789ab";
  above.files = {world.record};
  above.files[0].name = "ckpt/scaler.pt";
  world.disk.add_folder("/run/.tare");
  world.disk.add_file("/run/.tare/pending", encoded(above, stranger));
  UndoOptions options;
  options.recovery.trust_journals = true;
  CHECK(status_of([&] { undo(scope_of(world.disk, home), options); }) == Status::refused);
  CHECK(status_of([&] { recover(scope_of(world.disk, home), options.recovery); }) == Status::refused);
  TransactionOptions edit = sealed();
  edit.recovery.trust_journals = true;
  const FileEdit planned{target, {{patch_of(found, 0, noise(4, 9))}, {}, {}}, world.disk.status(target)};
  CHECK(status_of([&] { commit(world.disk, {planned}, {}, edit); }) == Status::refused);
  CHECK(world.disk.bytes(target) == found);
  CHECK_FALSE(world.disk.has("/run/ckpt/.tare/pending"));
  CHECK(undo(scope_of(world.disk, "/run"), options).kind == UndoKind::rolled_back);
  CHECK(world.disk.bytes(target) == old);
}

TEST_CASE("who may not read a record of an edit may not read it once it is undone") {
  for (const mode_t mode : {mode_t{0600}, mode_t{0640}, mode_t{0644}}) {
    SimulatedDisk disk;
    disk.add_folder("/run");
    disk.add_folder(home);
    const Bytes old = noise(100, 1);
    disk.add_file(target, old, mode);
    commit(disk, {{target, {{patch_of(old, 20, noise(6, 2))}, {}, {}}, disk.status(target)}}, {}, sealed());
    REQUIRE(disk.names_in("/run/ckpt/.tare").size() == 1);
    const mode_t before = disk.mode("/run/ckpt/.tare/" + disk.names_in("/run/ckpt/.tare")[0]);
    CHECK((before & 0777) == mode);
    undo(scope_of(disk, home));
    REQUIRE(disk.names_in("/run/ckpt/.tare") == std::vector<std::string>{"000001.undone"});
    CHECK(disk.mode("/run/ckpt/.tare/000001.undone") == before);
  }
}

TEST_CASE("this user's own journal is acted upon without an announcement") {
  const Bytes found = Found::with(exchanged(1)[1].bytes, exchanged(3)[1].bytes, {});
  Found world(100, 100, found);
  RecoverOptions options;
  options.trust_journals = true;
  options.announce = [](const std::string& line) { FAIL("announced: " << line); };
  CHECK(recover(scope_of(world.disk, home), options).size() == 1);
}

TEST_CASE("undo takes back an edit only where every changed place holds what the edit wrote") {
  for (const Part& first : exchanged(1)) {
    for (const Part& second : exchanged(3)) {
      INFO(first.name << " bytes at the first place, " << second.name << " at the second");
      SimulatedDisk disk;
      disk.add_folder("/run");
      disk.add_folder(home);
      const Bytes old = Found::with(exchanged(1)[0].bytes, exchanged(3)[0].bytes, {});
      disk.add_file(target, old);
      const FileChange change{
          {patch_of(old, 20, exchanged(1)[1].bytes), patch_of(old, 40, exchanged(3)[1].bytes)}, {}, {}};
      commit(disk, {{target, change, disk.status(target)}}, {}, sealed());
      const Bytes found = Found::with(first.bytes, second.bytes, {});
      disk.overwrite(target, found);
      const bool is_as_edited = first.state == FileState::after && second.state == FileState::after;
      CHECK(status_of([&] { undo(scope_of(disk, home)); }) == (is_as_edited ? Status::ok : Status::refused));
      CHECK(disk.bytes(target) == (is_as_edited ? old : found));
    }
  }
}

TEST_CASE("undo says of a file that is gone, or is none any more, that it is not what the edit made of it") {
  for (const bool is_gone : {true, false}) {
    SimulatedDisk disk;
    disk.add_folder("/run");
    disk.add_folder(home);
    const Bytes old = noise(100, 1);
    disk.add_file(target, old);
    disk.add_file("/run/ckpt/other.pt", old);
    commit(disk,
           {{target, {{patch_of(old, 20, noise(6, 2))}, {}, {}}, disk.status(target)},
            {"/run/ckpt/other.pt", {{patch_of(old, 20, noise(6, 2))}, {}, {}}, disk.status("/run/ckpt/other.pt")}},
           {}, sealed());
    const Bytes edited = disk.bytes("/run/ckpt/other.pt");
    disk.remove(target);
    if (!is_gone) disk.add_folder(target);
    try {
      undo(scope_of(disk, home));
      FAIL("what is no file any more was undone");
    } catch (const Error& error) {
      CHECK(error.status == Status::refused);
      CHECK(std::string(error.what()) == std::string(target) + ": is no longer what that edit made of it");
    }
    CHECK(disk.bytes("/run/ckpt/other.pt") == edited);
    CHECK_FALSE(disk.has("/run/ckpt/.tare/pending"));
  }
}

TEST_CASE("undo of two files from the one takes back first what was interrupted in the other's own folder") {
  Scene scene = rank_scene("two ranks", 2);
  const auto old = states(scene.disk, scene.edits);
  commit(scene.disk, scene.edits, scene.fields(), sealed());
  const std::string& other = scene.edits[1].path;
  const Bytes edited = scene.disk.bytes(other);
  const FileEdit more{other, {{patch_of(edited, 700, noise(8, 9))}, {}, {}}, scene.disk.status(other)};
  SimulatedDisk disk = scene.disk;
  for (std::uint64_t call = 1; disk.bytes(other) == edited; ++call) {
    disk = scene.disk;
    disk.kill_at(call);
    CHECK_THROWS_AS(commit(disk, {more}, {}, sealed()), Killed);
    disk = disk.after_crash(Survival::everything, 0);
  }
  CHECK_FALSE(find_pending(scope_of(disk, scene.edits[0].path)));  // which lies beside the other file
  CHECK(undo(scope_of(disk, scene.edits[0].path)).kind == UndoKind::undone);
  CHECK(all_old(disk, old));
}

// ---- a file that is written anew, its old one put aside

/// The power failed just before the commit.
struct Replaced {
  Replaced() : scene(all_scenes()[2]), path(scene.edits[0].path), old(scene.disk.bytes(path)), disk(scene.disk) {
    fresh = changed(old, scene.edits[0].change);
    for (std::uint64_t call = 1; disk.bytes(path) != fresh; ++call) {
      disk = scene.disk;
      disk.kill_at(call);
      CHECK_THROWS_AS(commit(disk, scene.edits, {}, sealed()), Killed);
      disk = disk.after_crash(Survival::everything, 0);
    }
    for (const std::string& name : disk.names_in("/run/ckpt/.tare")) {
      if (name.find(".old.") != std::string::npos) aside = "/run/ckpt/.tare/" + name;
    }
    REQUIRE_FALSE(aside.empty());
  }

  Scene scene;
  std::string path;
  std::string aside;
  Bytes old;
  Bytes fresh;
  SimulatedDisk disk;
};

/// What was done to one of the two since.
struct Since {
  const char* name;
  std::function<void(Replaced&, const std::string& path)> work;
};

Since holds(const char* name, std::function<Bytes(const Replaced&)> bytes) {
  return {name, [bytes](Replaced& world, const std::string& path) { world.disk.overwrite(path, bytes(world)); }};
}

TEST_CASE("a file that was written anew is brought back only where both it and the old one are as the edit left them") {
  const Since as_left{"as the edit left it", [](Replaced&, const std::string&) {}};
  const Since gone{"gone", [](Replaced& world, const std::string& path) { world.disk.remove(path); }};
  const Since strange = holds("somebody else's", [](const Replaced&) { return noise(50, 5); });
  const Since as_old = holds("as it was before", [](const Replaced& world) { return world.old; });
  const Since another_mode{"of another mode",
                           [](Replaced& world, const std::string& path) { world.disk.set_mode(path, 0600); }};
  const Since another_owner{"of another owner", [](Replaced& world, const std::string& path) {
                              world.disk.set_owner(path, 7);
                              world.disk.set_user(0);  // who may read it all the same
                            }};
  const Since replaced{"a folder", [](Replaced& world, const std::string& path) {
                         world.disk.remove(path);
                         world.disk.add_folder(path);
                       }};
  enum class Outcome { brought_back, left_as_found, refused };
  struct Case {
    Since file, aside;
    Outcome outcome;
  };
  const std::vector<Case> cases = {
      {as_left, as_left, Outcome::brought_back}, {as_old, as_left, Outcome::brought_back},
      {gone, as_left, Outcome::brought_back},    {strange, as_left, Outcome::refused},
      {another_mode, as_left, Outcome::refused}, {another_owner, as_left, Outcome::refused},
      {replaced, as_left, Outcome::refused},     {as_left, strange, Outcome::refused},
      {as_old, strange, Outcome::refused},       {gone, strange, Outcome::refused},
      {strange, strange, Outcome::refused},      {as_left, replaced, Outcome::refused},
      {as_left, gone, Outcome::refused},         {as_old, gone, Outcome::left_as_found},
      {strange, gone, Outcome::left_as_found},   {gone, gone, Outcome::left_as_found},
  };
  for (const auto& [file, aside, outcome] : cases) {
    INFO("the file is " << file.name << ", the old one " << aside.name);
    Replaced world;
    file.work(world, world.path);
    aside.work(world, world.aside);
    const SimulatedDisk found = world.disk;
    const bool is_refused = outcome == Outcome::refused;
    CHECK(status_of([&] { recover(scope_of(world.disk, home)); }) == (is_refused ? Status::refused : Status::ok));
    CHECK(world.disk.has("/run/ckpt/.tare/pending") == is_refused);
    CHECK(world.disk.has(world.aside) == (is_refused && found.has(world.aside)));
    REQUIRE(world.disk.has(world.path) == (outcome == Outcome::brought_back || found.has(world.path)));
    if (!world.disk.has(world.path)) continue;
    CHECK(world.disk.bytes(world.path) == (outcome == Outcome::brought_back ? world.old : found.bytes(world.path)));
  }
}

TEST_CASE("an old file put aside that is a copy takes no name that nothing has: it is not the one that was edited") {
  Replaced world;
  world.disk.remove(world.path);
  world.disk.remove(world.aside);
  world.disk.add_file(world.aside, world.old);
  CHECK(status_of([&] { recover(scope_of(world.disk, home)); }) == Status::refused);
  CHECK_FALSE(world.disk.has(world.path));
  CHECK(world.disk.bytes(world.aside) == world.old);
}

}  // namespace
}  // namespace tare::test
