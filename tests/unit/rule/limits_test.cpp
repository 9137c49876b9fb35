// Where each framework's scale ends when nothing stops: growing for ever, and overflowing for ever.
#include <cfloat>
#include <cmath>
#include <map>

#include "tests/unit/rule/setup.hpp"

using namespace tare;
using namespace tare::rule;
using namespace tare::test;

namespace {

constexpr double infinite = INFINITY;
const double largest_power = std::ldexp(1.0, 127);  // the largest power of two that float32 holds
constexpr int64_t for_ever = 5000;                  // factors of two: more than a double has exponents

struct End {
  double scale;
  Raised raised = Raised::nothing;
};

/// From the frameworks' code (and, where a trace goes that far, from the trace).
const std::map<std::string, End> growth_ends = {
    {"torch", {largest_power}},
    {"apex", {16777216.0}},
    {"apex_contrib", {infinite}},
    {"apex_fp16_utils", {infinite}},
    {"apex_hysteresis", {largest_power}},
    {"nemo", {largest_power}},
    {"megatron", {infinite}},
    {"megatron/constant", {1.0}},
    {"megatron/none", {1.0}},
    {"deepspeed/zero", {infinite}},
    {"deepspeed/fused", {infinite}},
    {"deepspeed/unfused", {infinite}},
    {"deepspeed/static", {1.0}},
    {"fairseq", {infinite}},
    {"colossalai", {infinite}},
    {"bmtrain", {infinite}},
    {"torch_npu", {largest_power}},
    {"mindspore/dynamic", {infinite}},
    {"mindspore/fixed", {1.0}},
    {"mindspore_amp", {largest_power}},
    {"mindspore_manager", {infinite}},
    {"mindformers_adaptive", {infinite}},
    {"mindformers_adaptive/paper", {infinite}},
    {"paddle", {infinite}},
    {"paddle_static", {largest_power}},
    {"oneflow", {FLT_MAX}},
    {"keras", {infinite}},
    {"tf_keras", {largest_power}},
    {"flax", {FLT_MAX}},
    {"jmp", {largest_power}},
    {"constant", {1.0}},
    {"layerwise", {1.0}},
};

const std::map<std::string, End> backoff_ends = {
    {"torch", {0.0}},
    {"apex", {0.0, Raised::division_by_zero}},
    {"apex_contrib", {1.0}},
    {"apex_fp16_utils", {1.0}},
    {"apex_hysteresis", {0.0}},
    {"nemo", {0.0}},
    {"megatron", {1.0}},
    {"megatron/constant", {1.0}},
    {"megatron/none", {1.0}},
    {"deepspeed/zero", {1.0, Raised::scale_at_minimum}},
    {"deepspeed/fused", {1.0}},
    {"deepspeed/unfused", {0.25}},
    {"deepspeed/static", {1.0}},
    {"fairseq", {std::ldexp(1.0, -13), Raised::minimum_reached}},
    {"colossalai", {0.0}},
    {"bmtrain", {1.0}},
    {"torch_npu", {0.0}},
    {"mindspore/dynamic", {1.0}},
    {"mindspore/fixed", {1.0}},
    {"mindspore_amp", {1.0}},
    {"mindspore_manager", {1.0, Raised::too_many_overflows}},
    {"mindformers_adaptive", {1.0}},
    {"mindformers_adaptive/paper", {1.0}},
    {"paddle", {0.0}},
    {"paddle_static", {1.0}},
    {"oneflow", {1.0}},
    {"keras", {0.0}},
    {"tf_keras", {1.0}},
    {"flax", {FLT_MIN}},
    {"jmp", {1.0}},
    {"constant", {1.0}},
    {"layerwise", {1.0}},
};

/// Runs one kind of step for ever, or until the rule raises.
End end_of(const Policy& policy, bool overflow) {
  RuleState state = initial_state(policy);
  for (int64_t i = 0; i < for_ever; ++i) {
    const Outcome<RuleState> outcome = next(policy, state, overflow);
    state = outcome.state;
    if (outcome.raised != Raised::nothing) return {scale_of(policy.id, state), outcome.raised};
  }
  return {scale_of(policy.id, state)};
}

void check_ends(const std::map<std::string, End>& ends, bool overflow) {
  for (const PolicySpec& spec : policies()) {
    CAPTURE(title(spec));
    const auto expected = ends.find(title(spec));
    REQUIRE(expected != ends.end());
    const End actual = end_of(with_window(spec, 1), overflow);
    CHECK(actual.scale == expected->second.scale);
    CHECK(actual.raised == expected->second.raised);
  }
  CHECK(ends.size() == policies().size());
}

}  // namespace

TEST_CASE("growth for ever ends where each framework's does") {
  check_ends(growth_ends, false);
}

TEST_CASE("overflows for ever end where each framework's do") {
  check_ends(backoff_ends, true);
}

TEST_CASE("an infinite scale of a framework without a guard never comes down") {
  for (const char* name : {"megatron", "mindspore", "paddle", "keras", "colossalai", "fairseq", "deepspeed"}) {
    CAPTURE(name);
    const Policy policy = with_window(*find_policy(name), 1);
    RuleState state = with_scale(policy, initial_state(policy), INFINITY).state;
    for (int i = 0; i < 100; ++i) state = next(policy, state, true).state;
    CHECK(scale_of(policy.id, state) == INFINITY);
  }
}

TEST_CASE("a floor and a ceiling hold every policy, and change nothing while the scale is between them") {
  for (const PolicySpec& spec : policies()) {
    CAPTURE(title(spec));
    if (spec.driver == Driver::statistics || spec.id == PolicyId::megatron_none) continue;
    Policy policy = with_window(spec, 2);
    if (find_parameter(spec, "initial_scale") != nullptr) set(policy, "initial_scale", 1024.0);
    Policy bounded_policy = policy;
    bounded_policy.bounds = {64.0, 4096.0};
    RuleState free = with_scale(policy, initial_state(policy), 1024.0).state;
    RuleState held = free;
    Counters counters;
    for (int i = 0; i < 2000; ++i) {
      const bool overflow = i % 40 < 20;  // down to the floor and up to the ceiling in turn
      advance(bounded_policy, held, overflow, counters);
      const double scale = scale_of(policy.id, held);
      CHECK((scale >= 64.0 && scale <= 4096.0));
      free = next(policy, free, overflow).state;
    }
    CHECK(counters.steps == 2000);
    RuleState apart = with_scale(policy, initial_state(policy), 1024.0).state;
    RuleState same = apart;
    for (const bool overflow : {true, false, false, true, false, false, false, true}) {
      apart = next(policy, apart, overflow).state;
      advance(bounded_policy, same, overflow, counters);
      CHECK(scale_of(policy.id, same) == scale_of(policy.id, apart));
    }
  }
}

TEST_CASE("steps, skipped steps, growths and back-offs are counted") {
  const Policy policy = with_window(*find_policy("torch"), 2);
  RuleState state = initial_state(policy);
  Counters counters;
  for (const bool overflow : {false, false, true, false, false, false, true, true}) {
    advance(policy, state, overflow, counters);
  }
  CHECK(counters.steps == 8);
  CHECK(counters.skipped == 3);
  CHECK(counters.growths == 2);
  CHECK(counters.backoffs == 3);
}

TEST_CASE("a new scale is put in as the policy can hold it, or refused") {
  const Policy torch = make_policy(*find_policy("torch"));
  const RuleState fresh = initial_state(torch);
  CHECK(scale_of(torch.id, with_scale(torch, fresh, 0.1).state) == static_cast<double>(0.1f));
  CHECK(with_scale(torch, fresh, 1e39).raised == Raised::scale_too_large);
  CHECK(with_scale(torch, fresh, std::nextafter(static_cast<double>(FLT_MAX), 1e300)).raised ==
        Raised::scale_too_large);
  CHECK(scale_of(torch.id, with_scale(torch, fresh, 1e39).state) == 65536.0);
  CHECK(scale_of(torch.id, with_scale(torch, fresh, INFINITY).state) == INFINITY);

  const Policy zero = make_policy(*find_policy("deepspeed"));
  CHECK(scale_of(zero.id, with_scale(zero, initial_state(zero), 1e39).state) == 1e39);

  Policy jmp = make_policy(*find_policy("jmp"));
  jmp.params.jmp.dtype = Dtype::f16;
  CHECK(scale_of(jmp.id, with_scale(jmp, initial_state(jmp), 2049.0).state) == 2048.0);
  CHECK(with_scale(jmp, initial_state(jmp), 65536.0).raised == Raised::scale_too_large);
}

TEST_CASE("the inverse is rounded once") {
  CHECK(inverse_of(65536.0) == 0x1p-16f);
  CHECK(inverse_of(3.0) == static_cast<float>(1.0 / 3.0));
  CHECK(inverse_of(INFINITY) == 0.0f);
  CHECK(inverse_of(0.0) == INFINITY);
}
