// File systems that lack something: locks, hard links.
#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"

namespace tare::test {
namespace {

constexpr int without_locks[] = {ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL};
constexpr int without_links[] = {EPERM, EOPNOTSUPP, ENOSYS, EMLINK};

Status status_of_work(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK_FALSE(error.hint.empty());
    return error.status;
  }
  return Status::ok;
}

TEST_CASE("where a file system has no locks an edit goes on, and so does its undo") {
  for (const int error : without_locks) {
    INFO("error " << error);
    Scene scene = all_scenes().front();
    const auto old = states(scene.disk, scene.edits);
    scene.disk.set_lock_error(error);
    commit(scene.disk, scene.edits, scene.fields(), sealed());
    CHECK(all_new(scene.disk, old, scene.edits));
    CHECK(undo(scope_of(scene.disk, home)).kind == UndoKind::undone);
    CHECK(all_old(scene.disk, old));
    CHECK_FALSE(scene.disk.has("/run/ckpt/.tare/pending"));
  }
}

TEST_CASE(
    "where a file system has no locks an interrupted edit is taken back only when the user says that no tare is left") {
  for (const int error : without_locks) {
    INFO("error " << error);
    Scene scene = all_scenes().back();
    const auto old = states(scene.disk, scene.edits);
    scene.disk.kill_at(30);
    CHECK_THROWS_AS(commit(scene.disk, scene.edits, scene.fields(), sealed()), Killed);
    SimulatedDisk disk = scene.disk.after_crash(Survival::everything, 0);
    disk.set_lock_error(error);
    const auto found = states(disk, scene.edits);
    CHECK(find_pending(scope_of(disk, home))->state == PendingState::interrupted);
    CHECK(status_of_work([&] { recover(scope_of(disk, home)); }) == Status::busy);
    CHECK(status_of_work([&] { undo(scope_of(disk, home)); }) == Status::busy);
    CHECK(status_of_work([&] { commit(disk, scene.edits, scene.fields(), sealed()); }) == Status::busy);
    CHECK(all_old(disk, found));
    RecoverOptions options;
    options.assume_abandoned = true;
    CHECK(recover(scope_of(disk, home), options).size() == 1);
    CHECK(all_old(disk, old));
    CHECK_FALSE(disk.has("/run/ckpt/.tare"));
  }
}

TEST_CASE("a lock that fails for another reason stops the edit and its recovery before a byte is written") {
  Scene scene = all_scenes().back();
  const auto old = states(scene.disk, scene.edits);
  scene.disk.set_lock_error(EIO);
  CHECK_THROWS_AS(commit(scene.disk, scene.edits, scene.fields(), sealed()), Error);
  CHECK(all_old(scene.disk, old));
  scene.disk = rank_scene("ranks", 8).disk;
  scene.disk.kill_at(30);
  CHECK_THROWS_AS(commit(scene.disk, scene.edits, scene.fields(), sealed()), Killed);
  SimulatedDisk disk = scene.disk.after_crash(Survival::everything, 0);
  disk.set_lock_error(EIO);
  const auto found = states(disk, scene.edits);
  RecoverOptions options;
  options.assume_abandoned = true;
  CHECK_THROWS_AS(recover(scope_of(disk, home), options), Error);
  CHECK(all_old(disk, found));
  disk.set_lock_error(0);
  CHECK(recover(scope_of(disk, home)).size() == 1);
  CHECK(all_old(disk, old));
}

TEST_CASE("where a file can get no second name it is written anew all the same, and brought back") {
  for (const int error : without_links) {
    INFO("error " << error);
    Scene scene = all_scenes()[2];
    const auto old = states(scene.disk, scene.edits);
    scene.disk.set_link_error(error);
    commit(scene.disk, scene.edits, scene.fields(), sealed());
    CHECK(all_new(scene.disk, old, scene.edits));
    undo(scope_of(scene.disk, home));
    CHECK(all_old(scene.disk, old));
  }
}

TEST_CASE("a second name that fails for another reason leaves the file as it was, and nothing beside it") {
  for (const int error : {EIO, ENOSPC, EDQUOT, EACCES}) {
    INFO("error " << error);
    Scene scene = all_scenes()[2];
    const auto old = states(scene.disk, scene.edits);
    scene.disk.set_link_error(error);
    CHECK_THROWS_AS(commit(scene.disk, scene.edits, scene.fields(), sealed()), Error);
    CHECK(all_old(scene.disk, old));
    CHECK(scene.disk.names_in(home) == std::vector<std::string>{"legacy.pt"});
  }
}

}  // namespace
}  // namespace tare::test
