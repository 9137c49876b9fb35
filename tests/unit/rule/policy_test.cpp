#include "kernels/rule/policy.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "tests/unit/rule/setup.hpp"

using namespace tare;
using namespace tare::rule;
using namespace tare::test;

namespace {

/// The words of DESIGN that a rule may use.
const std::set<std::string_view> known_roles = {
    "scale",
    "growth_tracker",
    "growth_interval",
    "growth_factor",
    "backoff_factor",
    "hysteresis",
    "step",
    "hysteresis_tracker",
    "min_scale",
    "max_scale",
    "overflow_tracker",
    "last_overflow_step",
    "window_list",
    "window_index",
    "window_up_count",
    "window_down_count",
    "initial_scale",
    "dynamic",
};

template <class Spec>
void check_names(const PolicySpec& policy, std::span<const Spec> specs) {
  std::set<std::string_view> names;
  std::set<std::string_view> roles;
  for (const Spec& spec : specs) {
    CAPTURE(title(policy), spec.name);
    CHECK(names.insert(spec.name).second);
    if (spec.role.empty()) continue;
    CHECK(known_roles.count(spec.role) == 1);
    CHECK(roles.insert(spec.role).second);
  }
}

std::string fault_of(const char* policy_name, const char* parameter, const Number& value) {
  const PolicySpec& spec = *find_policy(policy_name);
  Policy policy = make_policy(spec);
  REQUIRE(write_parameter(policy.params, *find_parameter(spec, parameter), value) == Assigned::done);
  return find_fault(spec, policy.params);
}

}  // namespace

TEST_CASE("names and roles are unique in each policy, and roles are the canonical words") {
  CHECK(policies().size() == 32);
  std::set<std::string> titles;
  for (const PolicySpec& policy : policies()) {
    CHECK(titles.insert(title(policy)).second);
    check_names(policy, policy.parameters);
    check_names(policy, policy.fields);
    CHECK(&spec_of(policy.id) == &policy);
    CHECK(find_policy(policy.name, policy.variant) != nullptr);
    CHECK(policy.variant.empty() == policy.variant_key.empty());
    // Megatron's constant scaler saves {}, and a run without a scaler has no scale.
    const ParameterSpec* scale = find_parameter(policy, "scale");
    const bool is_configured = (scale != nullptr && scale->role == "scale") || policy.id == PolicyId::megatron_none;
    CHECK((find_field(policy, "scale") != nullptr) != is_configured);
  }
}

TEST_CASE("a policy is found by name and variant, the usual variant first") {
  CHECK(find_policy("deepspeed")->id == PolicyId::deepspeed_zero);
  CHECK(find_policy("deepspeed", "unfused")->id == PolicyId::deepspeed_unfused);
  CHECK(find_policy("mindspore", "fixed")->id == PolicyId::mindspore_fixed);
  CHECK(find_policy("deepspeed", "other") == nullptr);
  CHECK(find_policy("torch", "zero") == nullptr);
  CHECK(find_policy("") == nullptr);
}

TEST_CASE("every policy's defaults pass its own ranges") {
  for (const PolicySpec& spec : policies()) {
    CAPTURE(title(spec));
    CHECK(find_fault(spec, make_policy(spec).params).empty());
  }
}

TEST_CASE("defaults are the frameworks' own") {
  const auto value = [](const char* policy, const char* variant, const char* parameter) {
    const PolicySpec& spec = *find_policy(policy, variant);
    return value_of(read_parameter(make_policy(spec).params, *find_parameter(spec, parameter)));
  };
  CHECK(value("torch", "", "growth_interval") == 2000);
  CHECK(value("megatron", "", "initial_scale") == 4294967296.0);
  CHECK(value("megatron", "", "hysteresis") == 2);
  CHECK(value("deepspeed", "zero", "delayed_shift") == 2);
  CHECK(value("deepspeed", "fused", "init_scale") == 4294967296.0);
  CHECK(value("deepspeed", "unfused", "min_scale") == 0.25);
  CHECK(value("apex", "", "max_loss_scale") == 16777216.0);
  CHECK(value("mindspore_manager", "", "init_loss_scale") == 16777216.0);
  CHECK(value("paddle", "", "init_loss_scaling") == 65536.0);
  CHECK(value("keras", "", "initial_scale") == 32768.0);
  CHECK(value("fairseq", "", "min_loss_scale") == 1e-4);
}

TEST_CASE("a parameter outside its range is refused with name, value and range") {
  CHECK(fault_of("torch", "growth_factor", real_number(1.0)) == "growth_factor is 1, allowed: more than 1");
  CHECK(fault_of("torch", "backoff_factor", real_number(1.5)) == "backoff_factor is 1.5, allowed: less than 1");
  CHECK(fault_of("torch", "init_scale", real_number(1e39)) ==
        "init_scale is 1e+39, allowed: more than 0 and at most 3.4028234663852886e+38");
  CHECK(fault_of("torch", "growth_factor", real_number(NAN)) == "growth_factor is nan, allowed: more than 1");
  CHECK(fault_of("megatron", "backoff_factor", real_number(0.0)) ==
        "backoff_factor is 0, allowed: more than 0 and less than 1");
  CHECK(fault_of("megatron", "hysteresis", integer_number(0)) == "hysteresis is 0, allowed: at least 1");
  CHECK(fault_of("megatron", "min_scale", real_number(1e10)) == "min_scale is greater than initial_scale");
  CHECK(fault_of("colossalai", "max_scale", real_number(2.0)) == "max_scale is smaller than initial_scale");
  CHECK(fault_of("mindformers_adaptive", "min_scale_window", integer_number(1000)) ==
        "max_scale_window is not greater than min_scale_window");
  CHECK(fault_of("jmp", "dtype", integer_number(2)) == "dtype is 2, allowed: float32, float16 or bfloat16");
  CHECK(fault_of("deepspeed", "scale_window", integer_number(0)) == "scale_window is 0, allowed: at least 1");
}

TEST_CASE("every bounded parameter refuses a value just outside") {
  int checked = 0;
  for (const PolicySpec& spec : policies()) {
    for (const ParameterSpec& parameter : spec.parameters) {
      if (!is_finite(parameter.range.low) || parameter.list != nullptr) continue;
      CAPTURE(title(spec), parameter.name);
      Policy policy = make_policy(spec);
      const double outside = parameter.range.low_included ? parameter.range.low - 1 : parameter.range.low;
      if (parameter.unset == "null" && value_of(parameter.unset_value) == outside) continue;
      REQUIRE(write_parameter(policy.params, parameter, integer_number(static_cast<int64_t>(outside))) ==
              Assigned::done);
      CHECK(find_fault(spec, policy.params).find(parameter.name) == 0);
      ++checked;
    }
  }
  CHECK(checked > 70);
}

TEST_CASE("what may stay unset takes none, and shows none") {
  const PolicySpec& flax = *find_policy("flax");
  const ParameterSpec& minimum = *find_parameter(flax, "minimum_scale");
  Policy policy = make_policy(flax);
  CHECK(value_of(read_parameter(policy.params, minimum)) == 0x1p-126);
  CHECK(write_parameter(policy.params, minimum, {}) == Assigned::done);
  CHECK(read_parameter(policy.params, minimum).kind == NumberKind::none);
  CHECK(find_fault(flax, policy.params).empty());

  const PolicySpec& apex = *find_policy("apex");
  const ParameterSpec& loss_scale = *find_parameter(apex, "loss_scale");
  policy = make_policy(apex);
  CHECK(loss_scale.unset == "dynamic");
  CHECK(read_parameter(policy.params, loss_scale).kind == NumberKind::none);
  CHECK(write_parameter(policy.params, loss_scale, real_number(128.0)) == Assigned::done);
  CHECK(scale_of(policy.id, initial_state(policy)) == 128.0);

  policy = make_policy(*find_policy("torch"));
  CHECK(write_parameter(policy.params, *find_parameter(*find_policy("torch"), "growth_factor"), {}) ==
        Assigned::wrong_kind);
}

TEST_CASE("parameters and fields are found by the framework's name, the stored name, and the role") {
  const PolicySpec& torch = *find_policy("torch");
  CHECK(find_parameter(torch, "initial_scale") == find_parameter(torch, "init_scale"));
  CHECK(find_field(torch, "_growth_tracker") == find_field(torch, "growth_tracker"));
  const PolicySpec& deepspeed = *find_policy("deepspeed");
  CHECK(find_field(deepspeed, "scale") == find_field(deepspeed, "cur_scale"));
  CHECK(find_parameter(deepspeed, "hysteresis")->name == "delayed_shift");
  CHECK(find_parameter(torch, "window") == nullptr);
  CHECK(find_field(torch, "") == nullptr);
}

TEST_CASE("values are written only where their kind and size fit") {
  const PolicySpec& torch = *find_policy("torch");
  RuleState state = initial_state(make_policy(torch));
  const FieldSpec& scale = *find_field(torch, "scale");
  const FieldSpec& tracker = *find_field(torch, "growth_tracker");
  CHECK(scale.write(state, integer_number(1024)) == Assigned::done);
  CHECK(scale.write(state, real_number(1e300)) == Assigned::out_of_range);
  CHECK(scale.write(state, boolean_number(true)) == Assigned::wrong_kind);
  CHECK(scale.write(state, {}) == Assigned::wrong_kind);
  CHECK(value_of(scale.read(state)) == 1024.0);
  CHECK(tracker.write(state, real_number(7.0)) == Assigned::done);
  CHECK(tracker.read(state).integer == 7);
  CHECK(tracker.write(state, real_number(7.5)) == Assigned::wrong_kind);
  CHECK(tracker.write(state, integer_number(int64_t{1} << 31)) == Assigned::out_of_range);
  CHECK(tracker.write(state, real_number(1e300)) == Assigned::out_of_range);
  CHECK(tracker.write(state, real_number(NAN)) == Assigned::wrong_kind);
  CHECK(tracker.read(state).integer == 7);
}

TEST_CASE("a window list is taken whole or not at all") {
  const PolicySpec& spec = *find_policy("mindformers_adaptive");
  const ParameterSpec& parameter = *find_parameter(spec, "window_list");
  Policy policy = make_policy(spec);
  const int64_t windows[] = {5, 10, 1000};
  CHECK(write_list(policy.params, parameter, windows) == Assigned::done);
  const int64_t negative[] = {5, -1};
  CHECK(write_list(policy.params, parameter, negative) == Assigned::out_of_range);
  CHECK(write_list(policy.params, parameter, std::vector<int64_t>(256, 9)) == Assigned::done);
  CHECK(write_list(policy.params, parameter, std::vector<int64_t>(257, 9)) == Assigned::out_of_range);
  CHECK(write_list(policy.params, parameter, {}) == Assigned::out_of_range);
  CHECK(parameter.list(policy.params).count == 256);
  CHECK(write_list(policy.params, *find_parameter(spec, "scale_factor"), windows) == Assigned::wrong_kind);
}

TEST_CASE("fields that a scaler without dynamics lacks are not present") {
  const PolicySpec& fused = *find_policy("deepspeed", "fused");
  Policy policy = make_policy(fused);
  const FieldSpec& last = *find_field(fused, "last_overflow_iter");
  CHECK(last.present(policy.params));
  policy.params.deepspeed_wrapper.dynamic_loss_scale = false;
  CHECK_FALSE(last.present(policy.params));
  CHECK(find_field(fused, "cur_iter")->present == nullptr);
}

TEST_CASE("a raised rule says why, with its values") {
  CHECK(message_of(make_policy(*find_policy("deepspeed")), Raised::scale_at_minimum) ==
        "an overflow with the scale already at min_scale 1");
  CHECK(message_of(make_policy(*find_policy("fairseq")), Raised::minimum_reached) ==
        "an overflow takes the scale to min_loss_scale 1e-04 or below");
  for (int32_t raised = 1; raised <= static_cast<int32_t>(Raised::invalid_scale); ++raised) {
    CHECK_FALSE(message_of(make_policy(*find_policy("torch")), static_cast<Raised>(raised)).empty());
  }
}

TEST_CASE("ints stay ints while an int factor makes them grow, and products beyond 64 bits become floats") {
  const Number big = multiply(integer_number(int64_t{1} << 62), integer_number(2));
  CHECK(big.kind == NumberKind::real);
  CHECK(big.real == 9223372036854775808.0);
  CHECK(multiply(integer_number(3), integer_number(-5)).integer == -15);
  CHECK(multiply(integer_number(3), real_number(2.0)).kind == NumberKind::real);
  CHECK(divide(integer_number(1), integer_number(3)).real == 1.0 / 3.0);
  CHECK(python_max(real_number(1.0), integer_number(1)).kind == NumberKind::real);
  CHECK(python_max(real_number(0.5), integer_number(1)).kind == NumberKind::integer);
}

TEST_CASE("no stored state, however wild, does more than give a strange scale") {
  std::mt19937_64 random(5);
  const double wild[] = {0.0,       -0.0, 1.0,  -1.0, 5e-324, 1e-40, 1e39, 1.7e308, INFINITY, -INFINITY, NAN,
                         INT32_MAX, -2.0, 3.25, 1e18, 1e-320, -7.0,  2.0,  -1e300,  0.5,      INT32_MIN, 65536.0};
  const int64_t counts[] = {0, 1, -1, 2, 3, 255, 256, -256, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  const auto number = [&] {
    const uint64_t pick = random();
    if ((pick & 1u) != 0) return real_number(wild[(pick >> 1) % std::size(wild)]);
    return integer_number(counts[(pick >> 1) % std::size(counts)]);
  };
  int64_t steps = 0;
  for (const PolicySpec& spec : policies()) {
    for (int round = 0; round < 2000; ++round) {
      Policy policy = make_policy(spec);
      prepare(policy);
      for (const ParameterSpec& parameter : spec.parameters) write_parameter(policy.params, parameter, number());
      RuleState state = initial_state(policy);
      for (const FieldSpec& field : spec.fields) field.write(state, number());
      Counters counters;
      for (int i = 0; i < 10; ++i, ++steps) advance(policy, state, (random() & 1u) != 0, counters);
      CHECK(counters.steps == 10);
    }
  }
  CHECK(steps == 32 * 20000);
}
