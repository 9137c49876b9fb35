// A run that is resumed goes on with what its monitor remembered.
#include "lib/monitor/saved.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/codec/hdf5.hpp"
#include "lib/codec/state_file.hpp"
#include "lib/monitor/examiner.hpp"
#include "tests/catch.hpp"

using namespace tare;
using namespace tare::monitor;

namespace {

/// A run whose gradients lose more and more, overflow now and then, and come to stand at the floor.
ObservedStep step_of(int i) {
  ObservedStep step;
  step.step = 10 * i;
  const bool overflows = i % 17 == 16 || i > 140;
  for (const char* name : {"a", "b.weight", ""}) {
    Gradient& one = step.gradients.emplace_back();
    one.name = name;
    one.seen.count = 1000;
    one.seen.zeros = *name == 'a' ? 1000 : static_cast<std::uint64_t>(i);
    one.seen.max_abs = overflows ? std::numeric_limits<double>::infinity() : *name == 'a' ? 0 : 60'000;
  }
  const int stuck = 10 * std::max(0, i - 140);
  if (i != 3) step.scaler = ScalerSeen{i > 100 ? 4.0 : 1024, 10 * i, i / 5 + stuck, i / 5, i / 5};
  return step;
}

void examine(Examiner& examiner, int from, int to, std::vector<std::string>& told) {
  for (int i = from; i < to; ++i) {
    ObservedStep step = step_of(i);
    examiner.examine(step);
    for (const HealthFinding& finding : step.findings) {
      told.push_back(std::to_string(finding.step.value_or(-1)) + finding.code + finding.message + finding.path);
    }
  }
}

using Through = ScalerState (*)(const ScalerState&);

ScalerState through_memory(const ScalerState& state) {
  return state;
}
ScalerState through_json(const ScalerState& state) {
  return state_from_json(state_to_json(state), "a text");
}
ScalerState through_hdf5(const ScalerState& state) {
  return state_from_bytes(state_to_hdf5(state, Compression::gzip), "a file").state;
}

constexpr int steps = 160;

ScalerState state_after(int looks) {
  Examiner examiner(WarnLimits{}, Format::f16);
  std::vector<std::string> told;
  examine(examiner, 0, looks, told);
  return to_state({10 * looks, examiner.memory()});
}

}  // namespace

TEST_CASE("a monitor that was saved and loaded tells what one tells that was never stopped") {
  std::vector<std::string> whole;
  Examiner unstopped(WarnLimits{}, Format::f16);
  examine(unstopped, 0, steps, whole);
  REQUIRE(whole.size() > 100);
  for (const Through through : {Through{through_memory}, Through{through_json}, Through{through_hdf5}}) {
    for (const int cut : {0, 1, 4, 17, 60, 99, 100, 105, 141, 150}) {
      std::vector<std::string> told;
      Examiner before(WarnLimits{}, Format::f16);
      examine(before, 0, cut, told);
      const Saved saved = saved_from(through(to_state({cut, before.memory()})));
      CHECK(saved.steps == cut);
      CHECK(saved.memory == before.memory());
      Examiner after(WarnLimits{}, Format::f16);
      after.remember(saved.memory);
      examine(after, cut, steps, told);
      CHECK(told == whole);
    }
  }
}

TEST_CASE("the same run saves the same text, whatever order its layers are kept in") {
  CHECK(state_to_json(state_after(30)) == state_to_json(to_state(saved_from(through_hdf5(state_after(30))))));
}

TEST_CASE("a state that lacks a value, or has one more or less of a list, is refused and named") {
  const ScalerState good = state_after(30);
  for (const auto& entry : good.fields) {
    ScalerState lacking = good;
    lacking.fields.erase(std::string(entry.name));
    CHECK_THROWS_WITH(saved_from(lacking), Catch::Contains(entry.name));
    ScalerState odd = good;
    odd.fields.set(entry.name, StateArray{{5}, std::vector<double>{1, 2, 3, 4, 5}});
    CHECK_THROWS_AS(saved_from(odd), Error);
    odd.fields.set(entry.name, std::string("x"));
    CHECK_THROWS_AS(saved_from(odd), Error);
  }
}

TEST_CASE("values that no monitor saves are refused") {
  const auto refused = [](const std::string& name, StateValue value) {
    ScalerState state = state_after(2);
    REQUIRE(state.fields.find(name) != nullptr);
    state.fields.set(name, std::move(value));
    CHECK_THROWS_AS(saved_from(state), Error);
  };
  const double nan = std::nan("");
  refused("steps", std::int64_t{-1});
  refused("steps", std::numeric_limits<std::int64_t>::max());
  refused("looks.step", StateArray{{2}, std::vector<std::int64_t>{3, 3}});
  refused("looks.step", StateArray{{2}, std::vector<std::int64_t>{4, 3}});
  refused("looks.step", StateArray{{1001}, std::vector<std::int64_t>(1001)});
  refused("stuck.steps", nan);
  refused("stuck.steps", -1.0);
  refused("run.looks", StateArray{{3}, std::vector<double>{0, nan, 0}});
  refused("layers.looks", StateArray{{9}, std::vector<double>(9, 1e300)});
  refused("layers.name", StateArray{{3}, std::vector<std::string>{"a", "b", "a"}});
}

TEST_CASE("a scaler's state is no monitor's, and a newer monitor's is told as that") {
  ScalerState state = state_after(2);
  state.params.set("version", std::int64_t{2});
  try {
    saved_from(state);
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(error.status == Status::unsupported);
  }
  state.params.set("version", std::int64_t{0});
  CHECK_THROWS_AS(saved_from(state), Error);
  state.policy = "torch";
  CHECK_THROWS_WITH(saved_from(state), Catch::Contains("policy is \"torch\""));
}
