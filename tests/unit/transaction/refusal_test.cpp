// What an edit refuses, and that a refusal leaves nothing behind.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <new>

#include "lib/base/error.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/transaction/forwarding_files.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"
#include "tests/unit/transaction/splice_edit.hpp"

namespace tare::test {
namespace {

/// Commits the edits, which must fail, and gives the error back.
Error failure(FileLayer& files, const std::vector<FileEdit>& edits, const TransactionOptions& options = {}) {
  try {
    commit(files, edits, {}, options);
  } catch (const Error& error) {
    return error;
  }
  FAIL("the edit was not refused");
  return Error(Status::ok, "");
}

/// A disk on which one file cannot be written.
class DamagedDisk final : public ForwardingFiles {
 public:
  explicit DamagedDisk(const std::string& path) : inode_(stat_of(path).st_ino) {}

  std::int64_t pwrite(int descriptor, ByteView from, std::uint64_t offset) override {
    struct stat status {};
    const bool is_damaged = fstat(descriptor, status) == 0 && status.st_ino == inode_;
    return is_damaged ? -EIO : ForwardingFiles::pwrite(descriptor, from, offset);
  }

 private:
  ino_t inode_;
};

TEST_CASE("a file that changed since it was planned is refused: bytes, time, size or inode") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  const FileEdit planned = patch_edit(path, 8, noise(8, 2));
  SECTION("bytes, and nothing else to see it by") {
    Bytes other = noise(100, 1);
    other[9] ^= std::byte{1};
    FileEdit edit = planned;
    const SharedBytes& before = edit.change.patches[0].before;
    Bytes expected(before.begin(), before.end());
    expected[1] ^= std::byte{1};
    edit.change.patches[0].before = std::move(expected);
    const Error error = failure(system_files(), {edit});
    CHECK(error.status == Status::refused);
    CHECK(std::string(error.what()) == path + ": the 8 bytes at offset 8 are not those that the plan saw");
  }
  SECTION("time") {
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0);
    CHECK(failure(system_files(), {planned}).status == Status::refused);
  }
  SECTION("size") {
    std::filesystem::resize_file(path, 90);
    CHECK(failure(system_files(), {planned}).status == Status::refused);
  }
  SECTION("inode") {
    std::filesystem::copy_file(path, scratch.path("copy"));
    std::filesystem::rename(scratch.path("copy"), path);
    CHECK(failure(system_files(), {planned}).status == Status::refused);
  }
  CHECK(names_in(scratch.folder()) == std::vector<std::string>{"scaler.pt"});
}

TEST_CASE("a file with several names is refused unless that is meant") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  std::filesystem::create_hard_link(path, scratch.path("snapshot.pt"));
  const Error error = failure(system_files(), {patch_edit(path, 8, noise(8, 2))});
  CHECK(error.status == Status::refused);
  CHECK(std::string(error.what()) == path + ": has 2 names (hard links), which would all change");
  CHECK_FALSE(error.hint.empty());
  CHECK(names_in(scratch.folder()) == std::vector<std::string>{"scaler.pt", "snapshot.pt"});

  TransactionOptions options;
  options.allow_hard_links = true;
  edit(path, 8, noise(8, 2), "1.0", options);
  CHECK(bytes_of(scratch.path("snapshot.pt")) == bytes_of(path));
}

TEST_CASE("a file with several names that was patched is taken back where the next file cannot be written") {
  const Scratch scratch;
  const Bytes old = noise(100, 1);
  const std::string path = scratch.write("rank0.pt", old);
  const std::string other = scratch.write("rank1.pt", old);
  std::filesystem::create_hard_link(path, scratch.path("snapshot.pt"));
  DamagedDisk files(other);
  TransactionOptions options;
  options.allow_hard_links = true;
  const Error error = failure(files, {patch_edit(path, 8, noise(8, 2)), patch_edit(other, 8, noise(8, 2))}, options);
  CHECK(error.status == Status::io);
  CHECK(std::string(error.what()).find("rolling back was stopped") == std::string::npos);
  CHECK(bytes_of(path) == old);
  CHECK(bytes_of(scratch.path("snapshot.pt")) == old);
  CHECK(names_in(scratch.folder()) == std::vector<std::string>{"rank0.pt", "rank1.pt", "snapshot.pt"});
}

TEST_CASE(
    "a file with several names that is written anew parts from them, and that is told; one that is patched does not") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  std::filesystem::create_hard_link(path, scratch.path("snapshot.pt"));
  const Bytes old = bytes_of(path);
  TransactionOptions options;
  options.allow_hard_links = true;
  const Receipt in_place = edit(path, 8, noise(8, 2), "1.0", options);
  CHECK(std::ranges::find(in_place.findings, "hard-link-parted", &Finding::code) == in_place.findings.end());
  const Bytes patched = bytes_of(scratch.path("snapshot.pt"));
  CHECK(patched != old);
  const Receipt receipt = commit(system_files(), {splice_edit(path, 8, 8, noise(9, 3))}, {}, options);
  const auto parted = std::ranges::find(receipt.findings, "hard-link-parted", &Finding::code);
  REQUIRE(parted != receipt.findings.end());
  CHECK(parted->severity == Severity::warning);
  CHECK(parted->file == path);
  CHECK(parted->message == path + " was rewritten: its other names keep the old file");
  CHECK(bytes_of(scratch.path("snapshot.pt")) == patched);
  CHECK(bytes_of(path).size() == 101);
}

TEST_CASE("a file named by the hash of its content is refused unless that is meant") {
  const Scratch scratch;
  const std::string hash(64, 'a');
  scratch.write("blobs/" + hash, noise(100, 1));
  std::filesystem::create_directories(scratch.path("snapshots/main"));
  const std::string link = scratch.path("snapshots/main/scaler.pt");
  REQUIRE(::symlink(("../../blobs/" + hash).c_str(), link.c_str()) == 0);
  const Error error = failure(system_files(), {patch_edit(link, 8, noise(8, 2))});
  CHECK(error.status == Status::refused);
  CHECK_FALSE(error.hint.empty());
  TransactionOptions options;
  options.allow_content_addressed = true;
  CHECK(edit(link, 8, noise(8, 2), "1.0", options).files.size() == 1);
}

TEST_CASE("files of two devices are refused") {
  const Scratch scratch;
  if (!std::filesystem::exists("/dev/shm") || stat_of("/dev/shm").st_dev == stat_of(scratch.folder()).st_dev) {
    WARN("no second device here: not tried");
    return;
  }
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  const std::string other = "/dev/shm/tare-edit-test-" + std::to_string(::getpid());
  std::filesystem::copy_file(path, other);
  const Error error = failure(system_files(), {patch_edit(path, 0, noise(4, 2)), patch_edit(other, 0, noise(4, 2))});
  std::filesystem::remove(other);
  CHECK(error.status == Status::refused);
  CHECK(bytes_of(path) == noise(100, 1));
}

TEST_CASE("changes that make no sense are refused") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  const Bytes file = noise(100, 1);
  const struct stat planned = stat_of(path);
  const Patch a = patch_of(file, 10, noise(8, 2));
  const Patch overlapping = patch_of(file, 17, noise(8, 2));
  Patch moving = a;
  moving.after = moving.after.part(0, moving.after.size() - 1);
  Patch outside = a;
  outside.offset = 97;
  const Splice splice{0, {file.begin(), file.begin() + 1}, {}, ""};
  const std::vector<FileChange> senseless = {{{a, overlapping}, {}, {}},
                                             {{moving}, {}, {}},
                                             {{outside}, {}, {}},
                                             {{}, Append{99, noise(1, 1), {}, ""}, {}},
                                             {{a}, {}, splice}};
  for (const FileChange& change : senseless) {
    CHECK(failure(system_files(), {{path, change, planned}}).status == Status::invalid_argument);
  }
  CHECK(names_in(scratch.folder()) == std::vector<std::string>{"scaler.pt"});
}

TEST_CASE("a read-only file of ours is edited and stays read-only; somebody else's is refused") {
  Scene scene = scene_named("read-only file");
  const std::string path = scene.edits[0].path;
  SECTION("ours") {
    commit(scene.disk, scene.edits, {}, sealed());
    CHECK(scene.disk.mode(path) == 0400);
    undo(scope_of(scene.disk, path));
    CHECK(scene.disk.mode(path) == 0400);
  }
  SECTION("another user's") {
    scene.disk.set_user(0);
    scene.disk.add_file("/run/ckpt/theirs.pt", noise(100, 1), 0644);
    const struct stat planned = scene.disk.status("/run/ckpt/theirs.pt");
    scene.disk.set_user(1000);
    const FileEdit edit{"/run/ckpt/theirs.pt", {{patch_of(noise(100, 1), 0, noise(4, 2))}, {}, {}}, planned};
    const Error error = failure(scene.disk, {scene.edits[0], edit});
    CHECK(error.status == Status::io);
    CHECK(error.detail == EACCES);
    CHECK_FALSE(error.hint.empty());
    CHECK(scene.disk.bytes(path) == noise(1000, 1));
    CHECK_FALSE(scene.disk.has("/run/ckpt/.tare"));
  }
}

TEST_CASE("another user's file is edited where it is, and refused where it would be written anew and become ours") {
  for (const char* name : {"patches", "append", "splice"}) {
    INFO(name);
    Scene scene = scene_named(name);
    const std::string path = scene.edits[0].path;
    scene.disk.set_user(0);
    scene.disk.set_owner(path, 2000);
    scene.edits[0].planned = scene.disk.status(path);
    const auto old = states(scene.disk, scene.edits);
    if (!scene.edits[0].change.splice) {
      commit(scene.disk, scene.edits, {}, sealed());
      CHECK(all_new(scene.disk, old, scene.edits));
      CHECK(scene.disk.status(path).st_uid == 2000);
      continue;
    }
    const Error error = failure(scene.disk, scene.edits, sealed());
    CHECK(error.status == Status::refused);
    CHECK(std::string(error.what()) ==
          path + ": has to be written anew, which would take it from its owner (user 2000, group 0)");
    CHECK(all_old(scene.disk, old));
    CHECK_FALSE(scene.disk.has("/run/ckpt/.tare"));
  }
}

TEST_CASE("a full disk rolls everything back, whenever it fills") {
  for (const char* name : {"append", "splice", "eight ranks"}) {
    const Scene scene = scene_named(name);
    const auto old = states(scene.disk, scene.edits);
    std::uint64_t used = 0;
    for (const auto& [path, state] : old) used += state.bytes.size();
    int refused = 0;
    for (std::uint64_t room = 0; room < 8000; room += 50) {
      INFO(name << " with room for " << room << " bytes");
      SimulatedDisk disk = scene.disk;
      disk.set_capacity(used + room);
      try {
        commit(disk, scene.edits, {}, sealed());
        CHECK(all_new(disk, old, scene.edits));
      } catch (const Error& error) {
        ++refused;
        CHECK(error.detail == ENOSPC);
        CHECK(all_old(disk, old));
        CHECK_FALSE(disk.has("/run/ckpt/.tare"));
      }
    }
    CHECK(refused > 10);
    CHECK(refused < 160);
  }
}

TEST_CASE(
    "an edit that a failing disk stops, at whichever call, leaves the files old and nothing of its own beside them") {
  for (const char* name : {"patches", "append", "splice"}) {
    const Scene scene = scene_named(name);
    const auto old = states(scene.disk, scene.edits);
    int stopped = 0;
    for (std::uint64_t call = 1;; ++call) {
      INFO(name << ", call " << call);
      SimulatedDisk disk = scene.disk;
      const std::uint64_t last = disk.calls() + call;
      disk.fail_at(call, EIO);
      try {
        commit(disk, scene.edits, {}, sealed());
        CHECK(all_new(disk, old, scene.edits));
      } catch (const Error&) {
        ++stopped;
        CHECK(all_old(disk, old));
        CHECK_FALSE(disk.has("/run/ckpt/.tare"));
      }
      if (disk.calls() < last) break;  // that many calls are not made
    }
    CHECK(stopped > 5);
  }
}

TEST_CASE(
    "an edit that memory runs out for while its journal or a file is written leaves the files old and nothing beside "
    "them") {
  for (const char* name : {"patches", "append", "splice", "eight ranks"}) {
    const Scene scene = scene_named(name);
    const auto old = states(scene.disk, scene.edits);
    int stopped = 0;
    for (std::uint64_t call = 3;; ++call) {  // calls 1 and 2 make .tare and the journal
      INFO(name << ", call " << call);
      SimulatedDisk disk = scene.disk;
      const std::uint64_t last = disk.calls() + call;
      disk.interrupt_at(call, [] { throw std::bad_alloc(); });
      try {
        commit(disk, scene.edits, {}, sealed());
        CHECK(all_new(disk, old, scene.edits));
      } catch (const std::bad_alloc&) {
        ++stopped;
        CHECK(all_old(disk, old));
        CHECK_FALSE(disk.has("/run/ckpt/.tare"));
      }
      if (disk.calls() < last) break;  // that many calls are not made
    }
    CHECK(stopped > 5);
  }
}

TEST_CASE("where the time of a file may not be set the edit is made all the same, and for any other reason it is not") {
  for (const char* name : {"patches", "append", "splice"}) {
    for (const int reason : {EPERM, EACCES, EIO}) {
      INFO(name << ", error " << reason);
      Scene scene = scene_named(name);
      const auto old = states(scene.disk, scene.edits);
      scene.disk.set_time_error(reason);
      if (reason == EIO) {
        CHECK(failure(scene.disk, scene.edits).detail == EIO);
        CHECK(scene.disk.bytes(scene.edits[0].path) == old.at(scene.edits[0].path).bytes);
      } else {
        commit(scene.disk, scene.edits, {}, sealed());
        CHECK(all_new(scene.disk, old, scene.edits));
      }
    }
  }
}

TEST_CASE("a read-only file system is refused with what to do") {
  Scene scene = scene_named("patches");
  scene.disk.fail_at(1, EROFS);
  const Error error = failure(scene.disk, scene.edits);
  CHECK(error.status == Status::io);
  CHECK(error.detail == EROFS);
  CHECK_FALSE(error.hint.empty());
}

TEST_CASE("a file that another program writes while the journal is written keeps that, and the others stay old") {
  Scene scene = scene_named("eight ranks");
  const auto old = states(scene.disk, scene.edits);
  const std::string path = scene.edits[3].path;
  const Bytes theirs = noise(950, 999);
  // Call 1 makes .tare, call 2 the journal, call 3 writes it: the files are verified by then.
  scene.disk.interrupt_at(3, [&] { scene.disk.overwrite(path, theirs); });
  const Error error = failure(scene.disk, scene.edits);
  CHECK(error.status == Status::refused);
  CHECK(scene.disk.bytes(path) == theirs);
  for (const auto& [other, state] : old) {
    if (other != path) CHECK(scene.disk.bytes(other) == state.bytes);
  }
  CHECK_FALSE(scene.disk.has("/run/ckpt/.tare"));
}

TEST_CASE("a file that another program writes while it is written anew keeps that, and no half copy stays") {
  const Scene scene = scene_named("splice");
  const std::string path = scene.edits[0].path;
  const Bytes theirs = noise(1200, 999);
  int refused = 0;
  for (std::uint64_t call = 7; call < 13; ++call) {
    INFO("they write before call " << call);
    SimulatedDisk disk = scene.disk;
    disk.interrupt_at(call, [&] { disk.overwrite(path, theirs); });
    CHECK(failure(disk, scene.edits).status == Status::refused);
    CHECK(disk.bytes(path) == theirs);
    CHECK_FALSE(disk.has("/run/ckpt/.tare"));
    ++refused;
  }
  CHECK(refused == 6);
}

TEST_CASE(
    "a file that takes the name of one that is written anew is lost at no call but the three that exchange them") {
  const Bytes theirs = noise(1200, 99);
  int lost = 0;
  int refused = 0;
  for (std::uint64_t call = 1;; ++call) {
    INFO("before call " << call);
    Scene scene = scene_named("splice");
    const std::string path = scene.edits[0].path;
    bool has_come = false;
    scene.disk.interrupt_at(call, [&] {
      has_come = true;
      scene.disk.remove(path);
      scene.disk.add_file(path, theirs);
    });
    try {
      commit(scene.disk, scene.edits, {}, sealed());
    } catch (const Error& error) {
      CHECK(error.status == Status::refused);
      CHECK(scene.disk.bytes(path) == theirs);
      ++refused;
    }
    if (!has_come) break;
    lost += scene.disk.bytes(path) == theirs ? 0 : 1;
  }
  CHECK(refused > 5);
  CHECK(lost == 3);  // a second name for the old one, that name durable, and the new one in its place
}

TEST_CASE("where an edit fails and cannot be taken back either, both reasons are said, and what undo is for") {
  const Scene scene = scene_named("eight ranks");
  const std::string path = scene.edits[0].path;
  const Bytes theirs = noise(950, 999);
  int stopped = 0;
  for (std::uint64_t call = 17; call < 40; ++call) {  // the file is edited by then
    INFO("they write before call " << call << ", and the next one fails");
    SimulatedDisk disk = scene.disk;
    disk.interrupt_at(call, [&] { disk.overwrite(path, theirs); });
    disk.fail_at(call + 1, EIO);
    const Error error = failure(disk, scene.edits, sealed());
    CHECK((disk.bytes(path) == theirs));
    if (!find_pending(scope_of(disk, home))) continue;
    ++stopped;
    CHECK(error.status == Status::io);
    CHECK_THAT(error.what(), Catch::Contains("; rolling back was stopped as well: "));
    CHECK(error.hint == "mend the cause, then `tare undo` brings the old state back");
  }
  CHECK(stopped > 0);
}

TEST_CASE("of two editors at work at once one is refused as busy, wherever they meet") {
  const Scene scene = scene_named("eight ranks");
  const auto old = states(scene.disk, scene.edits);
  // The other one's folder is the rank's own, below that of the first.
  const std::string path = scene.edits[2].path;
  const Bytes before = scene.disk.bytes(path);
  const FileChange other{{patch_of(before, 200, noise(8, 5))}, {}, {}};
  int busy = 0;
  for (std::uint64_t call = 1;; ++call) {
    INFO("the other one comes before call " << call);
    SimulatedDisk disk = scene.disk;
    std::optional<Status> outcome;
    disk.interrupt_at(call, [&] {
      try {
        commit(disk, {{path, other, disk.status(path)}}, {}, sealed());
        outcome = Status::ok;
      } catch (const Error& error) {
        outcome = error.status;
      }
    });
    bool is_done = true;
    try {
      commit(disk, scene.edits, {}, sealed());
    } catch (const Error& error) {
      is_done = false;
      CHECK((error.status == Status::busy || error.status == Status::refused));
    }
    if (!outcome) break;
    if (*outcome == Status::busy) ++busy;
    // Whoever was refused changed nothing; where both were done, one came after the other.
    REQUIRE((is_done || *outcome == Status::ok));
    Bytes expected = before;
    if (is_done) expected = changed(expected, scene.edits[2].change);
    if (*outcome == Status::ok) expected = changed(expected, other);
    CHECK(disk.bytes(path) == expected);
    CHECK((*outcome == Status::ok || all_new(disk, old, scene.edits)));
    CHECK((is_done || disk.bytes(scene.edits[0].path) == old.at(scene.edits[0].path).bytes));
  }
  CHECK(busy > 20);
}

TEST_CASE("while another tare holds the folder, edit, undo and recovery are refused as busy") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  edit(path, 8, noise(8, 2));
  {
    const auto held = Claim::create(Folder::at(system_files(), scratch.folder()), own_key(), 0644);
    REQUIRE(held);
    CHECK(status_of([&] { edit(path, 8, noise(8, 3)); }) == Status::busy);
    CHECK(status_of([&] { undo(scope_of(system_files(), path, scratch.folder())); }) == Status::busy);
    CHECK(status_of([&] { recover(scope_of(system_files(), path, scratch.folder())); }) == Status::busy);
  }
  // Its holder is gone, and it never wrote a journal: nothing stands in the way any more.
  edit(path, 8, noise(8, 3));
  CHECK(names_in(scratch.path(".tare")) == std::vector<std::string>{"000001.edit", "000002.edit"});
}

}  // namespace
}  // namespace tare::test
