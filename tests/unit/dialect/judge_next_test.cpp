// What a state is about to do, and what no rule leaves behind.
#include <algorithm>
#include <limits>
#include <optional>

#include "lib/dialect/found.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/judge_next.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

struct NamedValue {
  const char* name;
  Role role;
  double value;
};

FoundScaler scaler_of(const Dialect& dialect, std::initializer_list<NamedValue> values) {
  FoundScaler scaler;
  scaler.dialect = &dialect;
  scaler.path = "scaler";
  for (const auto& [name, role, value] : values) {
    Value held =
        role == Role::scale ? Value{value, "float"} : Value{Integer{static_cast<std::int64_t>(value), {}}, "int"};
    scaler.fields.push_back({name, role, std::move(held), nowhere, true});
  }
  return scaler;
}

using Codes = std::vector<std::string>;

Codes codes(const FoundScaler& scaler) {
  Codes found;
  for (const Finding& finding : judge_next(scaler)) found.push_back(finding.code);
  return found;
}

FoundScaler deepspeed(double scale, double left, double hysteresis = 2) {
  return scaler_of(deepspeed_object, {{"cur_scale", Role::scale, scale},
                                      {"cur_iter", Role::step, 100},
                                      {"last_overflow_iter", Role::last_overflow_step, 98},
                                      {"scale_window", Role::growth_interval, 1000},
                                      {"min_scale", Role::min_scale, 1},
                                      {"delayed_shift", Role::hysteresis, hysteresis},
                                      {"cur_hysteresis", Role::hysteresis_tracker, left}});
}

FoundScaler megatron(double scale, double left) {
  return scaler_of(megatron_state, {{"scale", Role::scale, scale},
                                    {"growth_tracker", Role::growth_tracker, 3},
                                    {"hysteresis_tracker", Role::hysteresis_tracker, left}});
}

}  // namespace

TEST_CASE("DeepSpeed's next overflow at its minimum ends the run, as soon as no hysteresis forgives it") {
  CHECK(codes(deepspeed(1, 1)) == Codes{"overflow-stops-run", "hysteresis-spent"});
  CHECK(judge_next(deepspeed(1, 1))[0].message ==
        "scale is 1.0: the next overflow ends the run: an overflow with the scale already at min_scale 1");
  CHECK(judge_next(deepspeed(1, 2))[0].message.starts_with("scale is 1.0: 2 overflows end the run"));
  CHECK(codes(deepspeed(2, 2)).empty());
}

TEST_CASE("fairseq stops where a back-off would reach its least scale") {
  const auto of = [](double scale) { return codes(scaler_of(fairseq_part, {{"loss_scale", Role::scale, scale}})); };
  CHECK(of(1.5e-4) == Codes{"overflow-stops-run"});
  CHECK(of(2.5e-4).empty());
}

TEST_CASE("a hysteresis is spent when the next overflow backs off, and only where there is one") {
  CHECK(codes(megatron(65536, 1)) == Codes{"hysteresis-spent"});
  CHECK(codes(megatron(65536, -3)) == Codes{"hysteresis-spent"});
  CHECK(codes(megatron(65536, 2)).empty());
  CHECK(codes(deepspeed(65536, 1, 1)).empty());
}

TEST_CASE("counters that no rule leaves are told") {
  CHECK(codes(deepspeed(1024, 3)) == Codes{"counter-out-of-reach"});
  const auto torch = [](double tracker) {
    return codes(
        scaler_of(torch_state, {{"scale", Role::scale, 1024}, {"_growth_tracker", Role::growth_tracker, tracker}}));
  };
  CHECK(torch(-2) == Codes{"counter-out-of-reach"});
  CHECK(torch(-1).empty());
  const auto apex = [](double step, double last) {
    return codes(scaler_of(apex_part, {{"cur_scale", Role::scale, 1024},
                                       {"cur_iter", Role::step, step},
                                       {"last_overflow_iter", Role::last_overflow_step, last}}));
  };
  CHECK(apex(5, 6) == Codes{"counter-out-of-reach"});
  CHECK(apex(-1, -2) == Codes{"counter-out-of-reach"});
  CHECK(apex(5, 4).empty());
}

TEST_CASE("counters beyond what doubles tell apart are compared and told as they are stored") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  FoundScaler ahead = deepspeed(1024, 2);
  const auto put = [&](Role role, std::int64_t counter) {
    const auto field = std::ranges::find(ahead.fields, std::optional(role), &Field::role);
    field->value = Value{Integer{counter, {}}, "int"};
  };
  put(Role::step, most - 1);
  put(Role::last_overflow_step, most);
  REQUIRE(codes(ahead) == Codes{"counter-out-of-reach"});
  CHECK(judge_next(ahead)[0].message.starts_with(
      "last_overflow_step 9223372036854775807 lies ahead of step 9223372036854775806: "));
  put(Role::step, most);
  CHECK(codes(ahead).empty());
  put(Role::step, -most);
  CHECK(judge_next(ahead)[0].message.starts_with("step is -9223372036854775807: below 0"));
}
