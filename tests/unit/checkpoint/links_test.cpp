// Folders whose files are links to where several of them have their content.
#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "tests/catch.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

constexpr const char* small_scaler = "torch_npu/scaler_file/scaler.pt";

TEST_CASE("a folder whose files are links that lead out of it is told so, and how to go on") {
  const Scratch scratch;
  scratch.write("blobs/scaler", "PK\3\4");
  std::filesystem::create_directories(scratch.path("snapshots/rev"));
  std::filesystem::create_symlink("../../blobs/scaler", scratch.path("snapshots/rev/scaler.pt"));
  try {
    open_checkpoint(scratch.path("snapshots/rev"), {});
    FAIL("nothing in it is read");
  } catch (const Error& error) {
    CHECK(error.status == Status::not_found);
    CHECK_THAT(error.what(), Catch::Contains("behind links that lead out of it (scaler.pt)"));
    CHECK_THAT(error.hint, Catch::Contains("give one of them by its name"));
  }
}

std::string save_of(const Scratch& run) {
  return open_checkpoint(run.path(), {}).resolved.substr(run.path().size() + 1);
}

TEST_CASE("after a rollback Lightning resumes from what its link last.ckpt leads to") {
  const Scratch run;
  for (const char* name : {"epoch=2-step=30.ckpt", "epoch=5-step=60.ckpt"}) run.copy(small_scaler, name);
  run.link("epoch=2-step=30.ckpt", "last.ckpt");
  CHECK(save_of(run) == "epoch=2-step=30.ckpt");
  CHECK(open_checkpoint(run.path(), {}).findings.at(0).message ==
        "a run of 2 checkpoints: last.ckpt is what Lightning's ckpt_path=\"last\" loads, a link to "
        "epoch=2-step=30.ckpt");
}

TEST_CASE("a link whose name tells of no trainer leaves the other saves of a run as they are") {
  const Scratch run;
  for (const char* name : {"epoch=2-step=30.ckpt", "epoch=5-step=60.ckpt"}) run.copy(small_scaler, name);
  run.link("epoch=2-step=30.ckpt", "best.ckpt");
  CHECK(save_of(run) == "epoch=5-step=60.ckpt");
}

TEST_CASE("a link to a save that was deleted refuses no run whose other saves are there") {
  const Scratch run;
  for (const char* name : {"epoch=2-step=30.ckpt", "epoch=5-step=60.ckpt"}) run.copy(small_scaler, name);
  run.link("epoch=9-step=90.ckpt", "last.ckpt");
  CHECK(save_of(run) == "epoch=5-step=60.ckpt");
}

TEST_CASE("a pointer that is a link to its text is followed inside of the run, and refused out of it") {
  const Scratch run;
  for (const char* save : {"run/global_step5", "run/global_step7"}) {
    run.copy(small_scaler, std::string(save) + "/scaler.pt");
  }
  run.write("run/.latest.real", "global_step5");
  run.link(".latest.real", "run/latest");
  CHECK(open_checkpoint(run.path("run"), {}).resolved == run.path("run/global_step5"));
  std::filesystem::remove(run.path("run/latest"));
  run.write("latest", "global_step5");
  run.link("../latest", "run/latest");
  CHECK_THROWS_WITH(open_checkpoint(run.path("run"), {}), Catch::Contains("latest is a link out of the run"));
}

TEST_CASE("a save that was moved to another folder of its run, with a link in its place, is its newest") {
  const Scratch run;
  for (const char* save : {"checkpoint-500", "checkpoint-1000", "store/checkpoint-1500"}) {
    run.copy(small_scaler, std::string(save) + "/scaler.pt");
  }
  run.link("store/checkpoint-1500", "checkpoint-1500");
  CHECK(save_of(run) == "checkpoint-1500");
  CHECK(open_checkpoint(run.path(), {}).findings.at(0).message ==
        "a run of 3 checkpoints: checkpoint-1500 is the highest, what the Hugging Face Trainer resumes from");
}

}  // namespace
