// Values that are fine, each by itself, and harm the run together.

#include "lib/base/error.hpp"
#include "lib/edit/plan.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;

namespace {

const std::string corpus = TARE_TEST_DATA "/corpus/";
const std::string torch = corpus + "torch/scaler-file-t2.15/scaler.pt";             // 42 of 2000 steps counted
const std::string deepspeed = corpus + "deepspeed/zero2_2ranks/ckpt/global_step5";  // at least 1.0

using Messages = std::vector<std::string>;

/// What the edit would do to the run.
Messages harms(const std::string& path, std::vector<Assignment> set) {
  EditRequest request;
  request.action = Assign{std::move(set)};
  Messages messages;
  for (const Finding& finding : plan_edit(open_checkpoint(path, {}), request).findings) {
    CHECK(finding.severity == Severity::warning);
    messages.push_back(finding.message);
  }
  return messages;
}

/// What the edit is refused with; an error with status ok where it is not.
Error refusal(const std::string& path, std::vector<Assignment> set) {
  EditRequest request;
  request.action = Assign{std::move(set)};
  try {
    plan_edit(open_checkpoint(path, {}), request);
  } catch (const Error& error) {
    return error;
  }
  return Error(Status::ok, "");
}

}  // namespace

TEST_CASE("an interval that the counter has passed is told: the scale could not grow any more") {
  CHECK(harms(torch, {{"window", "43"}}).empty());
  CHECK(harms(torch, {{"window", "42"}}) ==
        Messages{"growth tracker 42 has reached the interval 42: PyTorch's GradScaler compares with ==, so the scale "
                 "cannot grow before the next overflow"});
  CHECK(harms(torch, {{"window", "1"}}).size() == 1);
}

TEST_CASE("a counter at the interval is told, unless the same edit makes room") {
  CHECK(harms(torch, {{"growth_tracker", "1999"}}).empty());
  CHECK(harms(torch, {{"growth_tracker", "2000"}}).size() == 1);
  CHECK(harms(torch, {{"growth_tracker", "2000"}, {"window", "2001"}}).empty());
  CHECK(harms(torch, {{"window", "10"}, {"growth_tracker", "0"}}).empty());
}

TEST_CASE("switching a scaler off by a flag that its class never looks at is told") {
  CHECK(
      harms(deepspeed, {{"dynamic", "false"}}) ==
      Messages{
          "dynamic is false, and DeepSpeed's ZeRO loss scaler moves the scale all the same: its class tells, not this "
          "flag"});
}

TEST_CASE("switching a scaler on by a flag that its class never looks at is told") {
  CHECK(harms(corpus + "deepspeed/zero2_static/ckpt/global_step2", {{"dynamic", "true"}}) ==
        Messages{"dynamic is true, and DeepSpeed's ZeRO loss scaler never moves the scale all the same: its class "
                 "tells, not this flag"});
}

TEST_CASE("a static scale is not made dynamic where no load would find what it then asks for") {
  for (const char* path : {"deepspeed/fused_zero0_static/ckpt/global_step3", "apex/contrib-static/contrib.pt"}) {
    const Error error = refusal(corpus + path, {{"dynamic", "true"}});
    CHECK(error.status == Status::refused);
    CHECK_THAT(error.what(), Catch::Contains("last_overflow_iter, scale_factor, scale_window"));
    CHECK_THAT(error.hint, Catch::Contains("--force"));
    CHECK(refusal(corpus + path, {{"scale", "64"}, {"dynamic", "false"}}).status == Status::ok);
  }
}

TEST_CASE("a static scale is made dynamic by force, and what a load will miss is told") {
  EditRequest request;
  request.action = Assign{{{"dynamic", "true"}}};
  request.force = true;
  const EditPlan plan = plan_edit(open_checkpoint(corpus + "apex/contrib-static/contrib.pt", {}), request);
  REQUIRE(plan.findings.size() == 1);
  CHECK(plan.findings.front().code == "dynamic-keys-missing");
}

TEST_CASE("a scale outside its own bounds is told") {
  CHECK(harms(deepspeed, {{"scale", "2"}}).empty());
  CHECK(harms(deepspeed, {{"min_scale", "2^40"}}).size() == 1);
  CHECK(harms(deepspeed, {{"scale", "128"}, {"min_scale", "256"}}) ==
        Messages{"scale 128.0 is below the minimum 256.0, to which the next back-off raises it"});
}

TEST_CASE("a scale at the minimum where DeepSpeed raises is told") {
  const Messages ends = {
      "scale is 1.0: the next overflow ends the run: an overflow with the scale already at min_scale 1"};
  CHECK(harms(deepspeed, {{"scale", "1"}}) == ends);
  CHECK(harms(deepspeed, {{"scale", "128"}, {"min_scale", "128"}}).size() == 1);
  CHECK(harms(deepspeed, {{"scale", "256"}, {"min_scale", "128"}}).empty());
}

TEST_CASE("what was sick before the edit is not told again") {
  const std::string zero = corpus + "transformers/run_collapse/run";
  CHECK(harms(zero, {{"growth_factor", "4"}}).empty());
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

TEST_CASE("a key that is misspelt is told with the one that was meant") {
  CHECK(refusal(torch, {{"scael", "2"}}).hint.starts_with("did you mean 'scale'? it has: scale, "));
  CHECK(refusal(torch, {{"growth_trackr", "2"}}).hint.starts_with("did you mean 'growth_tracker'? "));
  CHECK(refusal(torch, {{"frobnicate", "2"}}).hint.starts_with("it has: scale, "));
}
