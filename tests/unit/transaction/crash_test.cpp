// The promise of DESIGN §7.2, held against every call at which the power may fail: after recovery every file is old, or
// every file is new.

#include <algorithm>
#include <cerrno>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"

namespace tare::test {
namespace {

using Work = std::function<void(SimulatedDisk&)>;

/// What a disk may look like after one crash: nothing unsynced kept, everything, and random subsets.
std::vector<SimulatedDisk> crashes(const SimulatedDisk& disk, std::uint32_t seed, std::uint32_t subsets) {
  std::vector<SimulatedDisk> found;
  found.push_back(disk.after_crash(Survival::nothing, 0));
  found.push_back(disk.after_crash(Survival::everything, 0));
  for (std::uint32_t i = 0; i < subsets; ++i) found.push_back(disk.after_crash(Survival::some, seed * 1000 + i));
  return found;
}

/// Runs `work` until its `call`-th call; true where it ended before.
bool finishes(SimulatedDisk& disk, std::uint64_t call, const Work& work) {
  disk.kill_at(call);
  try {
    work(disk);
    return true;
  } catch (const Killed&) {
    return false;
  }
}

void recover_all(SimulatedDisk& disk) {
  recover(scope_of(disk, home));
}

/// A transaction seen from outside: what it starts from, and what it should come to.
struct Course {
  SimulatedDisk start;
  Work work;
  std::function<bool(const SimulatedDisk&)> is_old;
  std::function<bool(const SimulatedDisk&)> is_new;
};

Course edit_course(const Scene& scene) {
  const auto old = states(scene.disk, scene.edits);
  const auto edits = scene.edits;
  const auto fields = scene.fields();
  return {scene.disk, [=](SimulatedDisk& disk) { commit(disk, edits, fields, sealed()); },
          [=](const SimulatedDisk& disk) { return all_old(disk, old); },
          [=](const SimulatedDisk& disk) { return all_new(disk, old, edits); }};
}

Course undo_course(const Scene& scene) {
  const auto original = states(scene.disk, scene.edits);
  SimulatedDisk edited = scene.disk;
  commit(edited, scene.edits, scene.fields(), sealed());
  const auto start = edited.after_crash(Survival::everything, 0);
  const auto old = states(start, scene.edits);
  return {start, [](SimulatedDisk& disk) { undo(scope_of(disk, home)); },
          [=](const SimulatedDisk& disk) { return all_old(disk, old); },
          [=](const SimulatedDisk& disk) { return all_old(disk, original); }};
}

void check_recovered(const Course& course, SimulatedDisk disk, bool must_be_new) {
  recover_all(disk);
  const bool is_new = course.is_new(disk);
  CHECK((is_new || course.is_old(disk)));
  if (must_be_new) CHECK(is_new);
  CHECK_FALSE(find_pending(scope_of(disk, home)));
  // What a power failure leaves after recovery is the same, and the journal does not come back.
  SimulatedDisk later = disk.after_crash(Survival::nothing, 0);
  CHECK((is_new ? course.is_new : course.is_old)(later));
  CHECK_FALSE(find_pending(scope_of(later, home)));
}

/// How many points the crash was tried at, each with `subsets` random subsets of what was not synced.
std::uint64_t crash_everywhere(const Course& course, std::uint32_t subsets = 10) {
  for (std::uint64_t call = 1;; ++call) {
    SimulatedDisk disk = course.start;
    const bool is_done = finishes(disk, call, course.work);
    INFO("stopped before call " << call);
    for (const SimulatedDisk& found : crashes(disk, static_cast<std::uint32_t>(call), subsets)) {
      check_recovered(course, found, is_done);
    }
    if (is_done) return call - 1;
  }
}

/// Crashes the transaction, then its recovery, each at every `stride`-th call.
void crash_recovery_everywhere(const Course& course, std::uint64_t stride) {
  bool is_done = false;
  for (std::uint64_t call = 1; !is_done; call += stride) {
    SimulatedDisk disk = course.start;
    is_done = finishes(disk, call, course.work);
    for (const SimulatedDisk& found : crashes(disk, static_cast<std::uint32_t>(call), 2)) {
      bool is_recovered = false;
      for (std::uint64_t recovery_call = 1; !is_recovered; recovery_call += stride) {
        SimulatedDisk again = found;
        is_recovered = finishes(again, recovery_call, recover_all);
        INFO("stopped before call " << call << ", recovery before its call " << recovery_call);
        for (const SimulatedDisk& left : crashes(again, static_cast<std::uint32_t>(recovery_call), 2)) {
          check_recovered(course, left, is_done);
        }
      }
    }
  }
}

TEST_CASE("a crash at any call of an edit leaves all files old or all files new") {
  for (const Scene& scene : all_scenes()) {
    INFO(scene.name);
    CHECK(crash_everywhere(edit_course(scene)) >= 12);
  }
}

TEST_CASE("a crash at any call of an undo leaves all files edited or all files as they were") {
  for (const Scene& scene : all_scenes()) {
    INFO(scene.name);
    CHECK(crash_everywhere(undo_course(scene)) >= 12);
  }
}

TEST_CASE("a crash at any call of an edit or undo of 64 files leaves all old or all new") {
  const Scene scene = rank_scene("64 ranks", 64);
  CHECK(crash_everywhere(edit_course(scene), 1) >= 6 * 64);
  CHECK(crash_everywhere(undo_course(scene), 1) >= 6 * 64);
}

TEST_CASE("a crash at any call of an edit without history leaves all files old or all files new") {
  for (const Scene& scene : all_scenes()) {
    INFO(scene.name);
    Course course = edit_course(scene);
    course.work = [edits = scene.edits](SimulatedDisk& disk) {
      TransactionOptions options;
      options.keep_history = false;
      commit(disk, edits, {}, sealed(options));
      CHECK_FALSE(disk.has("/run/ckpt/.tare"));
    };
    CHECK(crash_everywhere(course) >= 12);
  }
}

TEST_CASE("the bytes that make an append count are never on disk before its body") {
  const Scene scene = all_scenes()[1];
  const FileEdit& edit = scene.edits[0];
  const Append& append = *edit.change.append;
  const Bytes wanted = changed(scene.disk.bytes(edit.path), edit.change);
  const auto body_end = static_cast<std::ptrdiff_t>(append.old_size + append.body.size());
  int committed = 0;
  for (std::uint64_t call = 1;; ++call) {
    SimulatedDisk disk = scene.disk;
    if (finishes(disk, call, edit_course(scene).work)) break;
    for (const SimulatedDisk& found : crashes(disk, static_cast<std::uint32_t>(call), 20)) {
      const Bytes& bytes = found.bytes(edit.path);
      if (bytes.size() != wanted.size()) continue;
      if (!std::equal(bytes.begin() + body_end, bytes.end(), wanted.begin() + body_end)) continue;
      ++committed;
      const auto old_size = static_cast<std::ptrdiff_t>(append.old_size);
      CHECK(std::equal(bytes.begin() + old_size, bytes.end(), wanted.begin() + old_size));
    }
  }
  CHECK(committed > 0);
}

/// The scene of a distributed checkpoint.
Scene distributed_scene() {
  const auto scenes = all_scenes();
  return *std::find_if(scenes.begin(), scenes.end(),
                       [](const Scene& s) { return s.name == std::string("distributed"); });
}

TEST_CASE("the metadata of a distributed checkpoint never points to what is not there, whatever is interrupted") {
  const Scene scene = distributed_scene();
  const FileEdit& metadata = scene.edits[2];
  const Bytes new_metadata = changed(scene.disk.bytes(metadata.path), metadata.change);
  int pointing = 0;
  for (const Course& course : {edit_course(scene), undo_course(scene)}) {
    for (std::uint64_t call = 1;; ++call) {
      SimulatedDisk disk = course.start;
      const bool is_done = finishes(disk, call, course.work);
      for (SimulatedDisk& found : crashes(disk, static_cast<std::uint32_t>(call), 10)) {
        for (const bool is_recovering : {false, true}) {
          if (is_recovering) finishes(found, 20 + call, recover_all);
          if (!found.has(metadata.path) || found.bytes(metadata.path) != new_metadata) continue;
          ++pointing;
          for (const FileEdit* edit : {&scene.edits[0], &scene.edits[1]}) {
            const Bytes& bytes = found.bytes(edit->path);
            const Bytes wanted = changed(scene.disk.bytes(edit->path), edit->change);
            INFO(edit->path << ", stopped before call " << call);
            REQUIRE(bytes.size() == wanted.size());
            const auto behind = static_cast<std::ptrdiff_t>(edit->change.append->old_size);
            CHECK(std::equal(bytes.begin() + behind, bytes.end(), wanted.begin() + behind));
          }
        }
      }
      if (is_done) break;
    }
  }
  CHECK(pointing > 20);
}

TEST_CASE("recovery may crash at any call, and is then done again") {
  for (const Scene& scene : all_scenes()) {
    INFO(scene.name);
    const std::uint64_t stride = scene.edits.size() > 1 ? 9 : 1;
    crash_recovery_everywhere(edit_course(scene), stride);
    crash_recovery_everywhere(undo_course(scene), stride);
  }
}

TEST_CASE("an edit that was interrupted can be made again, and undone") {
  for (const Scene& scene : all_scenes()) {
    INFO(scene.name);
    const auto old = states(scene.disk, scene.edits);
    for (std::uint64_t call = 1;; ++call) {
      INFO("stopped before call " << call);
      SimulatedDisk disk = scene.disk;
      if (finishes(disk, call, edit_course(scene).work)) break;
      SimulatedDisk found = disk.after_crash(Survival::some, static_cast<std::uint32_t>(call));
      const bool was_pending = find_pending(scope_of(found, home)).has_value();
      recover_all(found);
      if (was_pending) CHECK(all_old(found, old));
      if (!all_old(found, old)) continue;
      commit(found, scene.edits, scene.fields(), sealed());
      CHECK(all_new(found, old, scene.edits));
      undo(scope_of(found, home));
      CHECK(all_old(found, old));
    }
  }
}

/// Commits on a disk whose `call`-th call fails with `error`: false where there are fewer.
bool fails_cleanly(const Scene& scene, std::uint64_t call, int error_number) {
  const auto old = states(scene.disk, scene.edits);
  SimulatedDisk disk = scene.disk;
  disk.fail_at(call, error_number);
  bool has_failed = false;
  try {
    commit(disk, scene.edits, scene.fields(), sealed());
  } catch (const Error& error) {
    has_failed = true;
    CHECK(error.status == Status::io);
  }
  CHECK_FALSE(find_pending(scope_of(disk, home)));
  if (has_failed) {
    CHECK(all_old(disk, old));
    // Where removing the folder was what failed, an empty one stays.
    CHECK(disk.names_in("/run/ckpt/.tare").empty());
  } else {
    CHECK(all_new(disk, old, scene.edits));
  }
  return disk.calls() >= call;
}

/// The same for the undo of a commit.
bool undo_fails_cleanly(const Scene& scene, std::uint64_t call, int error_number) {
  SimulatedDisk disk = scene.disk;
  const auto old = states(disk, scene.edits);
  commit(disk, scene.edits, scene.fields(), sealed());
  const std::uint64_t before = disk.calls();
  disk.fail_at(call, error_number);
  try {
    undo(scope_of(disk, home));
    CHECK(all_old(disk, old));
  } catch (const Error& error) {
    CHECK(error.status == Status::io);
    CHECK(all_new(disk, old, scene.edits));
  }
  CHECK_FALSE(find_pending(scope_of(disk, home)));
  return disk.calls() - before >= call;
}

TEST_CASE("a call that fails once leaves all files old and says so, or all files new and says that") {
  for (const Scene& scene : all_scenes()) {
    for (const int error : {EIO, ENOSPC, EROFS}) {
      for (std::uint64_t call = 1;; ++call) {
        INFO(scene.name << ", call " << call << " fails with " << error);
        if (!fails_cleanly(scene, call, error)) break;
      }
    }
  }
}

TEST_CASE("an undo of which a call fails once is not made and says so, or is made and says that") {
  for (const Scene& scene : all_scenes()) {
    for (std::uint64_t call = 1;; ++call) {
      INFO(scene.name << ", call " << call);
      if (!undo_fails_cleanly(scene, call, EIO)) break;
    }
  }
}

/// How often `work`, of which one call after another fails, is done and tells that a power cut may take it back.
int told_as_not_durable(const SimulatedDisk& disk, const std::function<std::vector<Finding>(SimulatedDisk&)>& work) {
  int told = 0;
  for (std::uint64_t call = 1;; ++call) {
    SimulatedDisk failing = disk;
    const std::uint64_t before = failing.calls();
    failing.fail_at(call, EIO);
    try {
      for (const Finding& finding : work(failing)) {
        if (finding.code != "not-durable") continue;
        CHECK(finding.severity == Severity::warning);
        CHECK(finding.file == home);
        CHECK_THAT(finding.message, Catch::Contains("the change is made, but a power failure could take it back"));
        ++told;
      }
    } catch (const Error&) {
      continue;  // nothing is done
    }
    if (failing.calls() - before < call) return told;
  }
}

TEST_CASE("an edit, or its undo, of which only the last name may not outlive a power cut is made, and that is told") {
  for (const Scene& scene : all_scenes()) {
    INFO(scene.name);
    const auto edit = [&](SimulatedDisk& disk) { return commit(disk, scene.edits, scene.fields(), sealed()).findings; };
    CHECK(told_as_not_durable(scene.disk, edit) == 1);
    SimulatedDisk edited = scene.disk;
    edit(edited);
    CHECK(told_as_not_durable(edited, [](SimulatedDisk& disk) { return undo(scope_of(disk, home)).findings; }) == 1);
  }
}

}  // namespace
}  // namespace tare::test
