// Values that are fine, each by itself, and harm the run together.
#include <catch2/catch.hpp>

#include "lib/base/error.hpp"
#include "lib/edit/plan.hpp"

using namespace tare;

namespace {

const std::string corpus = TARE_TEST_DATA "/corpus/";
const std::string torch = corpus + "torch/scaler-file-t2.15/scaler.pt";         // 42 of 2000 steps counted
const std::string deepspeed = corpus + "deepspeed/zero2_2ranks/ckpt/global_step3";  // at least 1.0

/// What the edit is refused with; an error with status ok where it is not.
Error refusal(const std::string& path, std::vector<Assignment> set, bool force = false) {
  EditRequest request;
  request.set = std::move(set);
  request.force = force;
  try {
    plan_edit(open_checkpoint(path, {}), request);
  } catch (const Error& error) {
    return error;
  }
  return Error(Status::ok, "");
}

}  // namespace

TEST_CASE("an interval that the counter has passed is refused: the scale could not grow any more") {
  CHECK(refusal(torch, {{"window", "43"}}).status == Status::ok);
  const Error error = refusal(torch, {{"window", "42"}});
  CHECK(error.status == Status::refused);
  CHECK(std::string(error.what()) ==
        torch + ": growth tracker 42 has reached the interval 42: PyTorch's GradScaler compares with ==, so the scale "
                "cannot grow before the next overflow");
  CHECK(refusal(torch, {{"window", "1"}}).status == Status::refused);
  CHECK(refusal(torch, {{"window", "1"}}, true).status == Status::ok);
}

TEST_CASE("a counter at the interval is refused, unless the same edit makes room") {
  CHECK(refusal(torch, {{"growth_tracker", "1999"}}).status == Status::ok);
  CHECK(refusal(torch, {{"growth_tracker", "2000"}}).status == Status::refused);
  CHECK(refusal(torch, {{"growth_tracker", "2000"}, {"window", "2001"}}).status == Status::ok);
  CHECK(refusal(torch, {{"window", "10"}, {"growth_tracker", "0"}}).status == Status::ok);
}

TEST_CASE("a scale below its own minimum is refused") {
  CHECK(refusal(deepspeed, {{"scale", "1"}}).status == Status::ok);
  CHECK(refusal(deepspeed, {{"scale", "0.5"}}).status == Status::refused);
  CHECK(refusal(deepspeed, {{"scale", "0.5"}, {"min_scale", "0.25"}}).status == Status::ok);
  CHECK(refusal(deepspeed, {{"min_scale", "2^40"}}).status == Status::refused);
}

TEST_CASE("one field that is given twice is refused, whatever it is called") {
  const auto twice = [](std::vector<Assignment> set) { return refusal(torch, std::move(set)); };
  CHECK(std::string(twice({{"scale", "2"}, {"scale", "4"}}).what()) == "scale=2 and scale=4 both set scale");
  CHECK(twice({{"scale", "2"}, {"scale", "2"}}).status == Status::invalid_argument);
  CHECK(std::string(twice({{"window", "100"}, {"growth_interval", "200"}}).what()) ==
        "window=100 and growth_interval=200 both set growth_interval");
  CHECK(twice({{"growth_tracker", "1"}, {"_growth_tracker", "2"}}).status == Status::invalid_argument);
  CHECK(twice({{"growth_tracker", "1"}, {"native:_growth_tracker", "2"}}).status == Status::invalid_argument);
}

TEST_CASE("a state that was sick before can be edited elsewhere") {
  const std::string zero = corpus + "transformers/run_collapse/run";
  CHECK(refusal(zero, {{"growth_factor", "4"}}).status == Status::ok);
}

TEST_CASE("a key that is misspelt is told with the one that was meant") {
  CHECK(refusal(torch, {{"scael", "2"}}).hint.starts_with("did you mean 'scale'? it has: scale, "));
  CHECK(refusal(torch, {{"growth_trackr", "2"}}).hint.starts_with("did you mean '_growth_tracker'? "));
  CHECK(refusal(torch, {{"frobnicate", "2"}}).hint.starts_with("it has: scale, "));
}
