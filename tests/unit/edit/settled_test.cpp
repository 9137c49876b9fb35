// Reading while somebody edits: what is read is old or new, never a mixture, or it is said who is at work.
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/edit/checkpoint_scope.hpp"
#include "lib/edit/open_settled.hpp"
#include "lib/edit/plan.hpp"
#include "lib/transaction/folder.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

const std::string usual = TARE_TEST_DATA "/corpus/torch/rank-files-disagree/step100/rank0.pt";  // scale 65536.0

Scope scopes(const std::string& path) {
  return checkpoint_scope(system_files(), path, own_key());
}

/// The file system, where somebody else comes to act just before a file is opened.
class InterruptedFiles final : public Files {
 public:
  explicit InterruptedFiles(std::function<void(std::size_t number)> before_open)
      : before_open_(std::move(before_open)) {}

  [[nodiscard]] FileType type(const std::string& path) const override { return local_files().type(path); }
  [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override {
    ++listed_;
    return local_files().list(folder);
  }
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& path) const override {
    before_open_(++opened_);
    return local_files().open(path);
  }
  [[nodiscard]] bool is_shareable() const override { return false; }
  [[nodiscard]] std::size_t opened() const { return opened_; }
  [[nodiscard]] std::size_t listed() const { return listed_; }

 private:
  std::function<void(std::size_t)> before_open_;
  mutable std::size_t opened_ = 0, listed_ = 0;
};

class Ranks : public Scratch {
 public:
  Ranks() {
    for (const char* name : {"step/rank0.pt", "step/rank1.pt"}) write(name, bytes_of(usual));
  }
  void set_scale(const std::string& scale, bool keep_history = true) const {
    EditRequest request;
    request.action = Assign{{{"scale", scale}}};
    const EditPlan plan = plan_edit(open_checkpoint(path("step"), {}), request);
    commit(system_files(), plan.files, plan.for_history, sealed({.keep_history = keep_history, .upper = folder()}));
  }
  [[nodiscard]] SettledCheckpoint open(const Files& files) const {
    return open_settled(path("step"), {.files = &files}, scopes);
  }
};

double only_scale(const Checkpoint& checkpoint) {
  REQUIRE(checkpoint.scalers.size() == 1);
  REQUIRE(checkpoint.scalers[0].agree);
  return checkpoint.scalers[0].state().find(Role::scale)->value.as_double();
}

TEST_CASE("a folder in which nothing has changed for long, and that holds nothing, is not waited for") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path("step"));
  const auto looks = [&] {
    const InterruptedFiles files([](std::size_t) {});
    CHECK_THROWS_AS(open_settled(scratch.path("step"), {.files = &files}, scopes), Error);
    return files.listed();
  };
  const std::size_t of_new = looks();
  std::filesystem::last_write_time(scratch.path("step"),
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(of_new == 3 * looks());
}

TEST_CASE("an edit that comes and goes between the reading of two files is read whole") {
  for (const bool keep_history : {true, false}) {
    const Ranks ranks;
    const InterruptedFiles files([&](std::size_t number) {
      if (number == 2) ranks.set_scale("512", keep_history);
    });
    const SettledCheckpoint read = ranks.open(files);
    CHECK_FALSE(read.pending);
    CHECK(only_scale(read.checkpoint) == 512);
    CHECK(files.opened() == 4);
  }
}

TEST_CASE("an edit and its undo between the reading of two files, which bring the old times back, are noticed") {
  const Ranks ranks;
  const InterruptedFiles files([&](std::size_t number) {
    if (number == 2) ranks.set_scale("512");
    if (number == 3) undo(scope_of(system_files(), ranks.path("step"), ranks.folder()));
  });
  CHECK(only_scale(ranks.open(files).checkpoint) == 65536);
}

TEST_CASE("a file that cannot be read because somebody is writing it is looked at again") {
  const Ranks ranks;
  const std::string path = ranks.path("step/rank1.pt");
  const InterruptedFiles files([&](std::size_t number) {
    if (number == 2) std::filesystem::resize_file(path, 10);
    if (number == 4) ranks.write("step/rank1.pt", bytes_of(usual));
  });
  const SettledCheckpoint read = ranks.open(files);
  CHECK(only_scale(read.checkpoint) == 65536);
  CHECK(read.checkpoint.files.size() == 2);
}

TEST_CASE("a file that cannot be read while another tare is at work on it is looked at until that is done") {
  const Ranks ranks;
  const std::string path = ranks.path("step/rank1.pt");
  ranks.set_scale("512");
  const Bytes edited = bytes_of(path);
  const std::string record = ranks.path("step/.tare/000001.edit");
  const std::string pending = ranks.path("step/.tare/pending");
  std::filesystem::rename(record, pending);
  std::optional<OpenFile> held = Folder::at(system_files(), ranks.path("step/.tare")).open("pending", O_RDWR);
  REQUIRE(system_files().try_lock(held->descriptor()) == 0);
  std::filesystem::resize_file(path, 10);
  const InterruptedFiles files([&](std::size_t number) {
    if (number != 5) return;  // more failures than anybody else's would be looked at
    ranks.write("step/rank1.pt", edited);
    std::filesystem::rename(pending, record);
    held.reset();
  });
  const SettledCheckpoint read = open_settled(path, {.files = &files}, scopes);
  CHECK_FALSE(read.pending);
  CHECK(only_scale(read.checkpoint) == 512);
}

TEST_CASE("a transaction that does not end is told after a moment, and a settled state is not to be had") {
  const Ranks ranks;
  ranks.set_scale("512");
  std::filesystem::rename(ranks.path("step/.tare/000001.edit"), ranks.path("step/.tare/pending"));
  const OpenFile held = Folder::at(system_files(), ranks.path("step/.tare")).open("pending", O_RDWR);
  REQUIRE(system_files().try_lock(held.descriptor()) == 0);
  const auto began = std::chrono::steady_clock::now();
  const SettledCheckpoint read = open_settled(ranks.path("step"), {}, scopes);
  CHECK(std::chrono::steady_clock::now() - began > std::chrono::milliseconds(900));  // an edit takes a while
  REQUIRE(read.pending);
  CHECK(read.pending->state == PendingState::in_progress);
  CHECK_THROWS_AS(open_finished(ranks.path("step"), {}, scopes), Error);
}

TEST_CASE("where this user's own transaction was interrupted, a settled state is not to be had") {
  const Ranks ranks;
  ranks.set_scale("512");
  std::filesystem::rename(ranks.path("step/.tare/000001.edit"), ranks.path("step/.tare/pending"));
  const SettledCheckpoint read = open_settled(ranks.path("step"), {}, scopes);
  REQUIRE(read.pending);
  CHECK(read.pending->state == PendingState::interrupted);
  CHECK_THROWS_AS(open_finished(ranks.path("step"), {}, scopes), Error);
  const auto of_a_stranger = [](const std::string& path) {
    return checkpoint_scope(system_files(), path, JournalKey());
  };
  CHECK(only_scale(open_finished(ranks.path("step"), {}, of_a_stranger)) == 512);
}

TEST_CASE("files that change each time that they are read are no answer") {
  const Ranks ranks;
  const InterruptedFiles files([&](std::size_t number) {
    if (number % 2 == 0) ranks.write("step/rank0.pt", bytes_of(usual));
  });
  try {
    [[maybe_unused]] const SettledCheckpoint read = ranks.open(files);
    FAIL("a mixture was taken for an answer");
  } catch (const Error& error) {
    CHECK(error.status == Status::busy);
  }
}

TEST_CASE("what nobody edits is read once, and what is broken is broken") {
  const Ranks ranks;
  const InterruptedFiles quiet([](std::size_t) {});
  CHECK(only_scale(ranks.open(quiet).checkpoint) == 65536);
  CHECK(quiet.opened() == 2);
  for (const char* name : {"step/rank0.pt", "step/rank1.pt"}) ranks.write(name, std::string("no checkpoint"));
  const InterruptedFiles broken([](std::size_t) {});
  CHECK_THROWS_AS(ranks.open(broken), Error);
  CHECK(broken.opened() <= 8);
}

}  // namespace
}  // namespace tare::test
