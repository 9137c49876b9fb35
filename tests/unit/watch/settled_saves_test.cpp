// Checkpoints that are read once nothing in them changes any more, and again where anything did.
#include "lib/watch/settled_saves.hpp"

#include "tests/catch.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;
using namespace std::chrono_literals;

namespace {

std::string numbered(int number) {
  return "run/step_10/file_" + std::to_string(100 + number) + ".pt";
}

}  // namespace

TEST_CASE("a change of any file of a checkpoint is noticed, whichever of a hundred it is") {
  const Scratch scratch;
  scratch.copy("torch/train-t2.15/checkpoint.pth", "run/step_10/scaler.pt");
  for (int i = 0; i < 100; ++i) scratch.write(numbered(i), "");
  SettledSaves saves(local_files(), 0s);
  REQUIRE(saves.read(scratch.path("run/step_10")));
  CHECK(saves.version() == 1);
  std::uint64_t version = 1;
  for (const int number : {0, 1, 50, 98, 99}) {
    saves.read(scratch.path("run/step_10"));
    CHECK(saves.version() == version);
    scratch.write(numbered(number), "x");
    saves.read(scratch.path("run/step_10"));
    CHECK(saves.version() == ++version);
  }
  std::filesystem::remove(scratch.path(numbered(3)));
  saves.read(scratch.path("run/step_10"));
  CHECK(saves.version() == ++version);
  CHECK_FALSE(saves.waits());
}

TEST_CASE("logs and hidden files beside a checkpoint may grow without its being read again") {
  const Scratch scratch;
  scratch.copy("torch/train-t2.15/checkpoint.pth", "run/step_10/scaler.pt");
  SettledSaves saves(local_files(), 0s);
  REQUIRE(saves.read(scratch.path("run/step_10")));
  for (const char* name : {"run/step_10/train.log", "run/step_10/.hidden"}) scratch.write(name, "more");
  REQUIRE(saves.read(scratch.path("run/step_10")));
  CHECK(saves.version() == 1);
}

TEST_CASE("a checkpoint that was just written, or copied with its times, is waited for, and one that is old is not") {
  const Scratch scratch;
  scratch.copy("torch/train-t2.15/checkpoint.pth", "run/step_10/scaler.pt");
  const std::string save = scratch.path("run/step_10");
  for (const auto ago : {0s, 390s, 400'000s}) {
    std::filesystem::last_write_time(save + "/scaler.pt", std::filesystem::file_time_type::clock::now() - ago);
    SettledSaves fresh(local_files(), 100s);
    CHECK_FALSE(fresh.read(save));
    CHECK(fresh.waits());
    fresh.begin();
    CHECK_FALSE(fresh.waits());
  }
  SettledSaves old(local_files(), 1s);
  CHECK(old.read(std::string(TARE_TEST_DATA) +
                 "/corpus/torch/train-t2.15/checkpoint.pth"));  // from before this was built
  CHECK_FALSE(old.waits());
}
