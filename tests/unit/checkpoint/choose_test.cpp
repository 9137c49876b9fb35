// Which scaler is meant where several share a name.
#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/checkpoint/choose.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

const std::string scaler = "torch/scaler-file-t2.15/scaler.pt";
const std::string two_scalers = "torch/gan/gan.pt";

std::string hint_of(const Checkpoint& checkpoint, const Choice& choice) {
  try {
    chosen_scalers(checkpoint, choice);
  } catch (const Error& error) {
    return error.hint;
  }
  return {};
}

std::string file_of_chosen(const Checkpoint& checkpoint, const std::string& place) {
  const auto chosen = chosen_scalers(checkpoint, {.at = place});
  REQUIRE(chosen.size() == 1);
  return checkpoint.files[files_of(*chosen.front()).front()].path;
}

}  // namespace

TEST_CASE("scalers of one path are told by their files, and chosen by them") {
  const Scratch scratch;
  for (const char* name : {"a.pt", "b/c.pt"}) scratch.copy(scaler, std::string("step/") + name);
  const Checkpoint checkpoint = open_checkpoint(scratch.path("step"), {});
  CHECK(hint_of(checkpoint, {}) ==
        "choose one with --at PLACE, or --all: 'a.pt' (torch, in a.pt), 'b/c.pt' (torch, in b/c.pt)");
  CHECK(file_of_chosen(checkpoint, "a.pt") == "a.pt");
  CHECK(file_of_chosen(checkpoint, "b/c.pt") == "b/c.pt");
  CHECK(hint_of(checkpoint, {.at = "c.pt"}).starts_with("there is: 'a.pt'"));
}

TEST_CASE("scalers of one path and one file are told by both") {
  const Scratch scratch;
  for (const char* name : {"a.pt", "b.pt"}) scratch.copy(two_scalers, std::string("step/") + name);
  const Checkpoint checkpoint = open_checkpoint(scratch.path("step"), {});
  CHECK(hint_of(checkpoint, {}).find("'a.pt:scaler_G' (torch, in a.pt)") != std::string::npos);
  CHECK(file_of_chosen(checkpoint, "b.pt:scaler_G") == "b.pt");
  CHECK(hint_of(checkpoint, {.at = "scaler_G"}).find("--at PLACE") != std::string::npos);
}

TEST_CASE("scalers that differ in their path are told by it") {
  const Checkpoint checkpoint = open_checkpoint(TARE_TEST_DATA "/corpus/" + two_scalers, {});
  CHECK(hint_of(checkpoint, {}).find("'scaler_G' (torch, in gan.pt)") != std::string::npos);
  CHECK(chosen_scalers(checkpoint, {.at = "scaler_G"}).front()->state().path == "scaler_G");
  CHECK(hint_of(checkpoint, {.at = {}, .ways = "--into-at PLACE"}).starts_with("choose one with --into-at PLACE: "));
}
