// Interrupted transactions as others find them: who sees them, what stops their recovery, and journals from strangers.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

namespace fs = std::filesystem;

/// Eight ranks, of which some are new and some old: the power failed in the middle.
struct Interrupted {
  Interrupted() : scene(all_scenes().back()), old(states(scene.disk, scene.edits)), disk(scene.disk) {
    disk.kill_at(30);
    try {
      commit(disk, scene.edits, scene.fields(), sealed());
    } catch (const Killed&) {
      disk = disk.after_crash(Survival::everything, 0);
    }
  }

  Scene scene;
  std::map<std::string, FileContent> old;
  SimulatedDisk disk;
};

TEST_CASE("an interrupted edit is seen from the checkpoint, from each of its files, and not from others") {
  Interrupted world;
  REQUIRE_FALSE(all_old(world.disk, world.old));
  REQUIRE_FALSE(all_new(world.disk, world.old, world.scene.edits));
  world.disk.add_file("/run/ckpt/other.pt", noise(10, 1));
  for (const std::string& path :
       {std::string("/run"), std::string(home), world.scene.edits[0].path, world.scene.edits[7].path}) {
    const auto pending = find_pending(scope_of(world.disk, path));
    INFO(path);
    REQUIRE(pending);
    CHECK(pending->state == PendingState::interrupted);
    CHECK(pending->kind == JournalKind::edit);
    CHECK(pending->folder == home);
    CHECK(pending->number == 1);
    CHECK(pending->files.size() == 8);
    CHECK(pending->fields.at(7).file == world.scene.edits[7].path);
    CHECK_FALSE(pending->when.empty());
  }
  CHECK_FALSE(find_pending(scope_of(world.disk, "/run/ckpt/other.pt")));
  CHECK(find_pending(scope_of(world.disk, world.scene.edits[0].path, home)));
  CHECK_FALSE(find_pending(scope_of(world.disk, world.scene.edits[0].path, "/run/ckpt/mp_rank_00")));
}

TEST_CASE("an undo that was interrupted is told as one: of which edit, by whom, when, and what it was to change back") {
  Scene scene = all_scenes().back();
  TransactionOptions options = sealed();
  options.origin = {"ada", "node7", "tare edit ckpt scale=1024"};
  const std::string id = commit(scene.disk, scene.edits, scene.fields(), options).id;
  REQUIRE_FALSE(id.empty());
  const auto edited = states(scene.disk, scene.edits);
  scene.disk.kill_at(30);
  CHECK_THROWS_AS(undo(scope_of(scene.disk, home)), Killed);
  SimulatedDisk disk = scene.disk.after_crash(Survival::everything, 0);
  REQUIRE_FALSE(all_old(disk, edited));

  const auto pending = find_pending(scope_of(disk, home));
  REQUIRE(pending);
  CHECK(pending->state == PendingState::interrupted);
  CHECK(pending->is_own);
  CHECK(pending->kind == JournalKind::undo);
  CHECK(pending->number == 1);
  CHECK(pending->id == id);
  CHECK(pending->origin.user == "ada");
  CHECK(pending->origin.host == "node7");
  CHECK(pending->origin.command == "tare edit ckpt scale=1024");
  REQUIRE(pending->fields.size() == 8);
  CHECK(pending->fields[0].file == scene.edits[0].path);
  CHECK(pending->fields[0].before == scene.fields()[0].after);  // which rules
  CHECK(pending->fields[0].after == scene.fields()[0].before);

  const auto rolled_back = recover(scope_of(disk, home));
  REQUIRE(rolled_back.size() == 1);
  CHECK(rolled_back[0].kind == JournalKind::undo);
  CHECK(rolled_back[0].when == pending->when);
  CHECK(rolled_back[0].files == pending->files);
  CHECK(all_old(disk, edited));  // what the undo was to take back is there again
}

TEST_CASE("an undo that was interrupted and is undone says that its edit stands, and may be undone") {
  Scene scene = all_scenes().back();
  commit(scene.disk, scene.edits, scene.fields(), sealed());
  const auto edited = states(scene.disk, scene.edits);
  scene.disk.kill_at(30);
  CHECK_THROWS_AS(undo(scope_of(scene.disk, home)), Killed);
  SimulatedDisk disk = scene.disk.after_crash(Survival::everything, 0);
  const UndoResult rolled_back = undo(scope_of(disk, home));
  CHECK(rolled_back.kind == UndoKind::rolled_back);
  CHECK(rolled_back.interrupted == JournalKind::undo);
  CHECK(rolled_back.fields.at(0).before == scene.fields()[0].after);
  CHECK(all_old(disk, edited));
  const UndoResult undone = undo(scope_of(disk, home));
  CHECK(undone.kind == UndoKind::undone);
  CHECK(undone.fields.at(0).after == scene.fields()[0].after);
}

TEST_CASE("looking for interrupted edits changes nothing and takes no lock") {
  Interrupted world;
  const auto calls = world.disk.calls();
  CHECK(find_pending(scope_of(world.disk, home)));
  CHECK(history_of(scope_of(world.disk, home)).empty());
  CHECK(world.disk.calls() == calls);
  CHECK(recover(scope_of(world.disk, home)).size() == 1);
}

TEST_CASE("undo of an interrupted edit rolls it back and undoes nothing else") {
  Scene scene = all_scenes().front();
  const auto original = states(scene.disk, scene.edits);
  commit(scene.disk, scene.edits, scene.fields(), sealed());
  const std::string path = scene.edits[0].path;
  const auto edited = states(scene.disk, scene.edits);
  const FileEdit second{path, {{patch_of(scene.disk.bytes(path), 700, noise(8, 9))}, {}, {}}, scene.disk.status(path)};
  scene.disk.kill_at(7);
  CHECK_THROWS_AS(commit(scene.disk, {second}, {}, sealed()), Killed);
  SimulatedDisk disk = scene.disk.after_crash(Survival::everything, 0);
  REQUIRE(find_pending(scope_of(disk, path)));
  CHECK(undo(scope_of(disk, path)).kind == UndoKind::rolled_back);
  CHECK(all_old(disk, edited));
  CHECK(undo(scope_of(disk, path)).kind == UndoKind::undone);
  CHECK(all_old(disk, original));
}

TEST_CASE("the next edit rolls back first, and refuses a plan that was made on the half-edited file") {
  Interrupted world;
  const std::string path = world.scene.edits[0].path;
  const FileEdit planned{path, {{patch_of(world.disk.bytes(path), 0, noise(4, 9))}, {}, {}}, world.disk.status(path)};
  CHECK(status_of([&] { commit(world.disk, {planned}, {}, sealed()); }) == Status::refused);
  CHECK(all_old(world.disk, world.old));
  commit(world.disk, world.scene.edits, {}, sealed());
  CHECK(all_new(world.disk, world.old, world.scene.edits));
}

TEST_CASE("an edit in progress is told from an interrupted one") {
  Scene scene = all_scenes().back();
  std::optional<Pending> seen;
  scene.disk.interrupt_at(20, [&] { seen = find_pending(scope_of(scene.disk, scene.edits[0].path)); });
  commit(scene.disk, scene.edits, scene.fields(), sealed());
  REQUIRE(seen);
  CHECK(seen->state == PendingState::in_progress);
}

TEST_CASE("what is no file where a journal is looked for is told as that, and stops nobody who only looks") {
  const Scratch scratch;
  const std::string path = scratch.write("ckpt/scaler.pt", noise(8, 3));
  const std::string pending = scratch.path("ckpt/.tare/pending");
  fs::create_directory(scratch.path("ckpt/.tare"));
  const std::function<void()> kinds[] = {
      [&] { fs::create_symlink(path, pending); },
      [&] { fs::create_symlink("nowhere", pending); },
      [&] { fs::create_directory(pending); },
      [&] { REQUIRE(::mkfifo(pending.c_str(), 0600) == 0); },
  };
  for (const auto& make : kinds) {
    make();
    const auto found = find_pending(scope_of(system_files(), path, scratch.folder()));
    REQUIRE(found);
    CHECK(found->state == PendingState::unreadable);
    CHECK(found->problem == "it is no regular file");
    CHECK(found->folder == scratch.path("ckpt"));
    CHECK(status_of([&] { recover(scope_of(system_files(), path, scratch.folder())); }) == Status::refused);
    fs::remove(pending);
  }
  CHECK_FALSE(find_pending(scope_of(system_files(), path, scratch.folder())));
}

TEST_CASE("a journal that this user may not read is told all the same") {
  Interrupted world;
  world.disk.set_user(4711);
  const auto pending = find_pending(scope_of(world.disk, home));
  REQUIRE(pending);
  CHECK(pending->state == PendingState::unreadable);
  CHECK(status_of([&] { recover(scope_of(world.disk, home)); }) == Status::io);
}

TEST_CASE("a file that something else wrote after the crash stops the roll-back, until pruning leaves it as it is") {
  Interrupted world;
  const std::string path = world.scene.edits[1].path;
  const Bytes theirs = noise(950, 999);
  world.disk.overwrite(path, theirs);
  const SimulatedDisk before = world.disk;
  CHECK(find_pending(scope_of(world.disk, home))->foreign == std::vector<std::string>{path});
  CHECK(status_of([&] { recover(scope_of(world.disk, home)); }) == Status::refused);
  CHECK(status_of([&] { undo(scope_of(world.disk, home)); }) == Status::refused);
  for (const FileEdit& edit : world.scene.edits) CHECK(world.disk.bytes(edit.path) == before.bytes(edit.path));
  CHECK(find_pending(scope_of(world.disk, home)));

  const Pruned pruned = prune(scope_of(world.disk, home));
  REQUIRE(pruned.ended.size() == 1);
  CHECK(pruned.ended[0].foreign == std::vector<std::string>{path});
  CHECK_FALSE(world.disk.has("/run/ckpt/.tare"));
  CHECK(world.disk.bytes(path) == theirs);
  for (const auto& [other, state] : world.old) {
    if (other != path) CHECK(world.disk.bytes(other) == state.bytes);
  }
}

/// One file that was just rewritten, the old one still put aside: the power failed before the commit.
struct Rewritten {
  Rewritten() : scene(all_scenes()[2]), path(scene.edits[0].path), old(scene.disk.bytes(path)), disk(scene.disk) {
    const Bytes wanted = changed(old, scene.edits[0].change);
    for (std::uint64_t call = 1; disk.bytes(path) != wanted; ++call) {
      disk = scene.disk;
      disk.kill_at(call);
      CHECK_THROWS_AS(commit(disk, scene.edits, {}, sealed()), Killed);
      disk = disk.after_crash(Survival::everything, 0);
    }
  }
  [[nodiscard]] std::string put_aside() {
    for (const std::string& name : disk.names_in("/run/ckpt/.tare")) {
      if (name.find(".old.") != std::string::npos) return "/run/ckpt/.tare/" + name;
    }
    FAIL("no old file was put aside");
    return {};
  }

  Scene scene;
  std::string path;
  Bytes old;
  SimulatedDisk disk;
};

TEST_CASE("a rewritten file whose old one is gone cannot be rolled back, and that is said") {
  Rewritten world;
  world.disk.remove(world.put_aside());
  CHECK(status_of([&] { recover(scope_of(world.disk, home)); }) == Status::refused);
}

TEST_CASE("giving a rewritten file up leaves nothing beside it") {
  Rewritten world;
  world.disk.overwrite(world.path, noise(50, 5));
  CHECK(status_of([&] { recover(scope_of(world.disk, home)); }) == Status::refused);
  CHECK(world.disk.bytes(world.put_aside()) == world.old);
  RecoverOptions options;
  options.abandon_foreign_files = true;
  recover(scope_of(world.disk, home), options);
  CHECK(world.disk.bytes(world.path) == noise(50, 5));
  CHECK_FALSE(world.disk.has("/run/ckpt/.tare"));
}

TEST_CASE("in a folder where everybody may create files a stranger's journal is not believed") {
  Interrupted world;
  world.disk.set_user(4711);  // the owner of the files is 1000, and so is that of .tare
  world.disk.set_mode(home, 01777);
  CHECK(find_pending(scope_of(world.disk, home)));  // the folder's owner may do as he likes in it
  world.disk.set_owner(home, 0);
  CHECK_FALSE(find_pending(scope_of(world.disk, home)));
  CHECK(recover(scope_of(world.disk, home)).empty());
}

TEST_CASE("a stranger's journal is believed where its owner's group, or everybody, may change the folder anyway") {
  Interrupted world;
  world.disk.set_user(4711);  // the owner of .tare is 1000
  world.disk.set_owner(home, 0);
  const auto is_believed = [&](mode_t mode) {
    world.disk.set_mode(home, mode);
    return find_pending(scope_of(world.disk, home)).has_value();
  };
  CHECK(is_believed(0775));
  CHECK(is_believed(0757));
  CHECK_FALSE(is_believed(0755));
  CHECK_FALSE(is_believed(01775));  // whoever is in the group makes files there, and renames none of others
}

// ---- journals that did not come from here ---------------------------------------------------------------------------

Journal journal_over(const std::string& name, const Bytes& before, const Bytes& after) {
  Journal journal;
  journal.number = 1;
  journal.id = "0123456789ab";
  FileRecord record;
  record.name = name;
  record.size_before = record.size_after = before.size();
  record.swaps = {{0, before, after}};
  record.mode = 0644;
  journal.files = {record};
  return journal;
}

void plant(const Scratch& scratch, const Bytes& journal) {
  scratch.write("ckpt/.tare/pending", journal);
}

TEST_CASE("of several interrupted edits one's own is told, and of strangers' the one of the uppermost folder") {
  const Scratch scratch;
  scratch.write("runs/ckpt/a/scaler.pt", noise(8, 3));
  const auto found = [&] { return find_pending(scope_of(system_files(), scratch.path("runs"), scratch.folder())); };
  const JournalKey theirs(noise(JournalKey::size, 815));
  const auto plant_in = [&](const std::string& folder, const std::string& name, const JournalKey& key) {
    scratch.write(folder + "/.tare/pending", encoded(journal_over(name, noise(8, 2), noise(8, 3)), key));
  };
  plant_in("runs/ckpt/a", "scaler.pt", theirs);
  plant_in("runs/ckpt", "a/scaler.pt", theirs);
  fs::create_directory(scratch.path("runs/ckpt/z"));  // nothing is interrupted in what is looked at last
  REQUIRE(found());
  CHECK_FALSE(found()->is_own);
  CHECK(found()->folder == scratch.path("runs/ckpt"));
  scratch.write("runs/ckpt/z/scaler.pt", noise(8, 3));
  plant_in("runs/ckpt/z", "scaler.pt", own_key());
  CHECK(found()->is_own);
  CHECK(found()->folder == scratch.path("runs/ckpt/z"));
}

TEST_CASE("a journal cannot reach outside its folder by the names in it") {
  const Scratch scratch;
  const Bytes secret = noise(8, 1);
  const std::string outside = scratch.write("outside.pt", secret);
  scratch.write("ckpt/scaler.pt", noise(8, 3));
  const std::vector<std::string> names = {"../outside.pt",        outside, "a/../../outside.pt", "./scaler.pt", "",
                                          std::string("a\0b", 3), "a//b",  ".tare/pending",      "a/"};
  for (const std::string& name : names) {
    INFO(name);
    plant(scratch, encoded(journal_over(name, noise(8, 2), secret), own_key()));
    CHECK(status_of([&] { recover(scope_of(system_files(), scratch.path("ckpt"), scratch.folder())); }) ==
          Status::corrupt);
    CHECK(bytes_of(outside) == secret);
  }
}

TEST_CASE("a journal cannot reach outside its folder by links") {
  const Scratch scratch;
  const Bytes secret = noise(8, 1);
  const std::string outside = scratch.write("private/outside.pt", secret);
  scratch.write("ckpt/scaler.pt", noise(8, 3));
  fs::create_symlink(outside, scratch.path("ckpt/link.pt"));
  fs::create_directory_symlink(scratch.path("private"), scratch.path("ckpt/folder"));
  for (const std::string& name : {std::string("link.pt"), std::string("folder/outside.pt")}) {
    plant(scratch, encoded(journal_over(name, noise(8, 2), secret), own_key()));
    CHECK(status_of([&] { recover(scope_of(system_files(), scratch.path("ckpt"), scratch.folder())); }) ==
          Status::refused);
    CHECK(bytes_of(outside) == secret);
  }
}

TEST_CASE("a journal that contradicts itself is refused") {
  const Scratch scratch;
  scratch.write("ckpt/scaler.pt", noise(8, 3));
  const Journal sane = journal_over("scaler.pt", noise(8, 3), noise(8, 4));
  const std::vector<std::function<void(FileRecord&)>> breakages = {
      [](FileRecord& record) { record.size_before = UINT64_MAX; },
      [](FileRecord& record) { record.size_after = 9; },
      [](FileRecord& record) { record.swaps[0].offset = 1; },
      [](FileRecord& record) { record.swaps[0].offset = UINT64_MAX; },
      [](FileRecord& record) { record.swaps[0].after = noise(9, 4); },
      [](FileRecord& record) { record.swaps.push_back(record.swaps[0]); },
      [](FileRecord& record) { record.tail = noise(3, 1); },
      [](FileRecord& record) { record.tail_body = 1; },
      [](FileRecord& record) { record.write_method = WriteMethod::rewritten, record.swaps.clear(); },
      [](FileRecord& record) { record.mtime_before.tv_nsec = 1'073'741'823; },
      [](FileRecord& record) { record.witness.size = UINT64_MAX; },
      [](FileRecord& record) { record.witness.offset_before = UINT64_MAX, record.witness.size = 1; },
      [](FileRecord& record) {
        record.witness = {0, 0, 9, 0};
      },
  };
  for (std::size_t i = 0; i < breakages.size(); ++i) {
    INFO("breakage " << i);
    Journal broken = sane;
    breakages[i](broken.files[0]);
    plant(scratch, encoded(broken, own_key()));
    CHECK(status_of([&] { recover(scope_of(system_files(), scratch.path("ckpt"), scratch.folder())); }) ==
          Status::corrupt);
  }
  plant(scratch, encoded(sane, own_key()));
  CHECK(status_of([&] { recover(scope_of(system_files(), scratch.path("ckpt"), scratch.folder())); }) == Status::ok);
}

TEST_CASE("a .tare that is a link or a file is never followed or written") {
  const Scratch scratch;
  const std::string path = scratch.write("ckpt/scaler.pt", noise(100, 1));
  fs::create_directory(scratch.path("elsewhere"));
  SECTION("a link") {
    fs::create_directory_symlink(scratch.path("elsewhere"), scratch.path("ckpt/.tare"));
  }
  SECTION("a file") {
    scratch.write("ckpt/.tare", noise(10, 1));
  }
  CHECK_FALSE(find_pending(scope_of(system_files(), path, scratch.folder())));
  CHECK(status_of([&] { edit(path, 8, noise(8, 2)); }) == Status::refused);
  CHECK(bytes_of(path) == noise(100, 1));
  CHECK(fs::is_empty(scratch.path("elsewhere")));
}

}  // namespace
}  // namespace tare::test
