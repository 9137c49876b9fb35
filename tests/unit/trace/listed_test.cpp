// What a folder of checkpoints is told to hold.
#include "lib/trace/listed.hpp"

#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "tests/catch.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

ListOptions options() {
  ListOptions made;
  made.open = [](const std::string& path) { return open_checkpoint(path, {}); };
  return made;
}

}  // namespace

TEST_CASE("a folder without a checkpoint, and one without anything, are an error and no empty list") {
  const Scratch scratch;
  scratch.write("run/README.md", "words");
  std::filesystem::create_directories(scratch.path("nothing"));
  for (const char* folder : {"run", "nothing"}) {
    INFO(folder);
    CHECK_THROWS_WITH(list_checkpoints(scratch.path(folder), options()),
                      Catch::Contains("no checkpoint is in this folder or below it"));
  }
}

TEST_CASE("pictures beside the saves of a run hide none of them") {
  const Scratch scratch;
  scratch.write("run/plot.jpg", "\xff\xd8\xff");
  scratch.write("run/notes.bin", "words");
  for (const char* step : {"100", "200"}) {
    scratch.copy("numpy/npy_dict/state.npy", std::string("run/scaler_step_") + step + ".npy");
  }
  CHECK(list_checkpoints(scratch.path("run"), options()).size() == 2);
}

TEST_CASE("a folder that cannot be listed is an error where it was named, and told where it lies below") {
  class Locked final : public Files {
   public:
    explicit Locked(std::string folder) : folder_(std::move(folder)) {}
    [[nodiscard]] FileType type(const std::string& path) const override { return local_files().type(path); }
    [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override {
      if (folder == folder_) throw Error(Status::io, folder + ": Permission denied");
      return local_files().list(folder);
    }
    [[nodiscard]] std::shared_ptr<const Source> open(const std::string& path) const override {
      return local_files().open(path);
    }

   private:
    std::string folder_;
  };
  const Scratch scratch;
  scratch.copy("torch/train-t2.15/checkpoint.pth", "runs/a/step_9/scaler.pt");
  std::filesystem::create_directories(scratch.path("runs/b"));
  ListOptions made = options();
  const Locked whole(scratch.path("runs"));
  made.files = &whole;
  try {
    list_checkpoints(scratch.path("runs"), made);
    FAIL("it was listed");
  } catch (const Error& error) {
    CHECK(error.status == Status::io);
    CHECK(std::string(error.what()) == scratch.path("runs") + ": Permission denied");
  }
  const Locked part(scratch.path("runs/b"));
  made.files = &part;
  const auto listed = list_checkpoints(scratch.path("runs"), made);
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].path == scratch.path("runs/a/step_9"));
  CHECK(listed[1].path == scratch.path("runs/b"));
  REQUIRE(listed[1].findings.size() == 1);
  CHECK(listed[1].findings[0].message == scratch.path("runs/b") + ": Permission denied");
}

TEST_CASE("checkpoints of a run are listed in the order of their numbers, and what is broken in its place") {
  const Scratch scratch;
  for (const char* name : {"run/step_10/scaler.pt", "run/step_9/scaler.pt"})
    scratch.copy("torch/train-t2.15/checkpoint.pth", name);
  scratch.write("run/step_11/scaler.pt", "PK\x03\x04 cut short");
  const auto listed = list_checkpoints(scratch.path("run"), options());
  REQUIRE(listed.size() == 3);
  CHECK(listed[0].path == scratch.path("run/step_9"));
  CHECK(listed[1].path == scratch.path("run/step_10"));
  for (const std::size_t i : {0U, 1U}) {
    CHECK(listed[i].loss_scales == 1);
    CHECK(listed[i].scale.has_value());
    CHECK(listed[i].findings.empty());
  }
  REQUIRE(listed[2].findings.size() == 1);
  CHECK(listed[2].findings[0].code == "file-not-read");
}

TEST_CASE("saves that lie side by side in one folder are listed each, with the steps of their names") {
  const Scratch scratch;
  const auto save = [&](const std::string& name) { scratch.copy("torch/train-t2.15/checkpoint.pth", "run/" + name); };
  const auto names = [&] {
    std::vector<std::string> told;
    for (const ListedCheckpoint& one : list_checkpoints(scratch.path("run"), options())) {
      CHECK(one.loss_scales == 1);
      told.push_back(one.path.substr(scratch.path().size() + 1) + "@" + (one.step ? std::to_string(*one.step) : "?"));
    }
    return told;
  };
  using Names = std::vector<std::string>;
  save("checkpoint_10.pth");
  scratch.write("run/config.json", "{}");
  CHECK(names() == Names{"run@10"});  // one checkpoint, which its folder is as well
  save("checkpoint_9.pth");
  save("checkpoint_best.pth");
  CHECK(names() == Names{"run/checkpoint_9.pth@9", "run/checkpoint_10.pth@10", "run/checkpoint_best.pth@?"});
}

TEST_CASE("ranks' copies in one folder are one checkpoint") {
  const Scratch scratch;
  for (const char* name : {"run/rank0.pt", "run/rank1.pt"}) scratch.copy("torch/train-t2.15/checkpoint.pth", name);
  const auto listed = list_checkpoints(scratch.path("run"), options());
  REQUIRE(listed.size() == 1);
  CHECK(listed[0].path == scratch.path("run"));
  CHECK(listed[0].files == 2);
}

TEST_CASE(
    "accelerate's saves tell no step: its folders are numbered by saves, and its step counts an epoch's batches") {
  const Scratch scratch;
  for (const char* name : {"scaler.pt", "random_states_0.pkl"})
    scratch.copy(std::string("accelerate/save_state/state/") + name, std::string("run/checkpoint_3/") + name);
  const auto listed = list_checkpoints(scratch.path("run"), options());
  REQUIRE(listed.size() == 1);
  CHECK(listed[0].path == scratch.path("run/checkpoint_3"));
  CHECK(listed[0].loss_scales == 1);
  CHECK_FALSE(listed[0].step.has_value());
}
