#include "lib/state/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "kernels/rule/policy.hpp"
#include "lib/base/error.hpp"
#include "lib/state/behaviour.hpp"
#include "lib/state/policy_state.hpp"
#include "lib/state/policy_value.hpp"
#include "tests/catch.hpp"

namespace tare {
namespace {

using rule::FieldSpec;
using rule::PolicySpec;
using rule::RunningState;

/// Policies whose scale moves by overflows alone.
std::vector<const PolicySpec*> dynamic_policies() {
  std::vector<const PolicySpec*> found;
  for (const PolicySpec& spec : rule::policies()) {
    RunningState fresh;
    fresh.policy = rule::make_policy(spec);
    rule::prepare(fresh.policy);
    fresh.state = rule::initial_state(fresh.policy);
    if (spec.driver == rule::Driver::overflow && overflows_to_backoff(fresh)) found.push_back(&spec);
  }
  return found;
}

StepSequence random_steps(std::uint32_t seed, double share) {
  auto generator = std::make_shared<std::mt19937>(seed);
  return {"random", 10'000, [=](std::int64_t) { return static_cast<double>((*generator)()) < share * 4294967295.0; }};
}

/// A scaler with a window of 20 where the policy has one to set, after some steps with an overflow now and then.
RunningState walked(const PolicySpec& spec, std::uint32_t seed) {
  RunningState scaler;
  scaler.policy = rule::make_policy(spec);
  const auto* window = rule::find_parameter(spec, name(Role::growth_interval));
  if (window != nullptr && window->role == name(Role::growth_interval)) {
    assign(scaler.policy.params, *window, StateValue(std::int64_t{20}), window->name);
  }
  rule::prepare(scaler.policy);
  scaler.state = rule::initial_state(scaler.policy);
  std::mt19937 generator(seed);
  for (auto steps = 20 + generator() % 200; steps > 0; --steps) {
    rule::advance(scaler.policy, scaler.state, generator() % 40 == 0, scaler.counters);
  }
  return scaler;
}

ScalerState without_statistics(ScalerState state) {
  state.statistics = {};
  return state;
}

std::string pair_name(const PolicySpec& a, const PolicySpec& b) {
  return full_name(a) + " to " + full_name(b);
}

/// 1 and 1.0 are alike.
bool is_alike(const StateValue& a, const StateValue& b) {
  const auto is_number = [](const StateValue& value) {
    return kind_of(value) == ValueKind::number || kind_of(value) == ValueKind::integer;
  };
  return a == b || (is_number(a) && is_number(b) && number_of(a, "") == number_of(b, ""));
}

bool is_accounted_for(const Conversion& conversion, const std::string& key) {
  return std::any_of(conversion.values.begin(), conversion.values.end(), [&](const ConvertedValue& value) {
    return (value.key == key || value.source_key == key) && value.outcome != Outcome::carried;
  });
}

const ConvertedValue& value_of(const Conversion& conversion, std::string_view key) {
  const auto found = std::find_if(conversion.values.begin(), conversion.values.end(),
                                  [&](const ConvertedValue& value) { return value.key == key; });
  REQUIRE(found != conversion.values.end());
  return *found;
}

/// A counter by its role; nothing where the rule keeps none.
std::optional<std::int64_t> counter(const RunningState& scaler, std::string_view role) {
  const FieldSpec* field = find_field(spec_of(scaler.policy.id), role);
  if (field == nullptr || field->role != role) return std::nullopt;
  return integer_of(tare::value_of(scaler.state, *field), std::string(role));
}

ScalerState torch_state(double scale, std::int64_t tracker) {
  ScalerState state;
  state.policy = "torch";
  state.fields.set("scale", scale);
  state.fields.set("_growth_tracker", tracker);
  state.params.set("growth_factor", 2.0);
  state.params.set("backoff_factor", 0.5);
  state.params.set("growth_interval", std::int64_t{2000});
  return state;
}

}  // namespace

TEST_CASE(
    "Every dynamic policy goes into every other: equal on 10,000 random steps, or the account says where they part") {
  const auto policies = dynamic_policies();
  REQUIRE(policies.size() >= 20);
  std::size_t equal = 0, only_at_bounds = 0, in_usual_steps = 0;
  for (const PolicySpec* from : policies) {
    for (const PolicySpec* to : policies) {
      const std::uint32_t seed = 7 * static_cast<std::uint32_t>(from->id) + static_cast<std::uint32_t>(to->id);
      const RunningState source = walked(*from, seed);
      const Conversion conversion = convert(to_state(source), {std::string(to->name), std::string(to->variant), {}});
      const RunningState target = start_from(conversion.state);
      INFO(pair_name(*from, *to));
      CHECK(counter(target, "last_overflow_step") <= counter(target, "step"));
      CHECK(counter(target, "growth_tracker").value_or(0) >= -1);
      for (const double share : {0.5, 0.04, 0.003}) {
        const auto divergence = first_divergence(source, target, random_steps(seed + 1, share));
        INFO("share " << share << (divergence ? ": " + sentence(*divergence) : ""));
        CHECK((!divergence || conversion.divergence));
      }
      ++(!conversion.divergence ? equal : conversion.divergence->is_usual ? in_usual_steps : only_at_bounds);
    }
  }
  CHECK(equal >= policies.size());             // each into itself
  CHECK(only_at_bounds > in_usual_steps / 2);  // the families are large
  WARN(fmt::format("of {} ordered pairs {} stay equal, {} part on the way to a bound alone, {} in usual steps",
                   policies.size() * policies.size(), equal, only_at_bounds, in_usual_steps));
}

TEST_CASE("There and back gives the state again, or the account names what does not come back") {
  const auto policies = dynamic_policies();
  for (const PolicySpec* from : policies) {
    for (const PolicySpec* to : policies) {
      const std::uint32_t seed = 11 * static_cast<std::uint32_t>(from->id) + static_cast<std::uint32_t>(to->id);
      const ScalerState source = without_statistics(to_state(walked(*from, seed)));
      const Conversion there = convert(source, {std::string(to->name), std::string(to->variant), {}});
      const Conversion back = convert(there.state, {std::string(from->name), std::string(from->variant), {}});
      for (const std::string& key : keys(source)) {
        if (key == "policy" || key == "params.variant" || key == "params.kind") continue;
        // Where a fresh scaler starts: the scale, mindformers' window.
        const bool is_initial = find(source, "initial_scale") == find(source, key) || key == "params.scale_window";
        if (is_initial || is_alike(get(source, key), get(back.state, key))) continue;
        INFO(pair_name(*from, *to) << " and back: " << key);
        CHECK((is_accounted_for(there, key) || is_accounted_for(back, key)));
      }
    }
  }
}

TEST_CASE("Rules of one family part at their bounds alone; a hysteresis that the target lacks shows in usual steps") {
  const Conversion apex = convert(torch_state(4096.0, 42), {"apex", "", {}});
  REQUIRE(apex.divergence);
  CHECK_FALSE(apex.divergence->is_usual);
  CHECK_FALSE(apex.usual_divergence);
  ScalerState megatron;
  megatron.policy = "megatron";
  megatron.fields.set("scale", 4096.0);
  megatron.fields.set("growth_tracker", std::int64_t{7});
  megatron.fields.set("hysteresis_tracker", std::int64_t{2});
  const Conversion torch = convert(megatron, {"torch", "", {}});
  REQUIRE(torch.divergence);
  CHECK(torch.divergence->is_usual);
}

TEST_CASE("A hysteresis that is partly spent is spent as far in the target") {
  std::vector<const PolicySpec*> with_hysteresis;
  for (const PolicySpec* spec : dynamic_policies()) {
    const auto* parameter = rule::find_parameter(*spec, name(Role::hysteresis));
    const auto* tracker = rule::find_field(*spec, name(Role::hysteresis_tracker));
    if (parameter != nullptr && tracker != nullptr) with_hysteresis.push_back(spec);
  }
  REQUIRE(with_hysteresis.size() >= 3);
  for (const PolicySpec* from : with_hysteresis) {
    for (const std::int64_t whole : {4, 70}) {
      RunningState source;
      source.policy = rule::make_policy(*from);
      assign(source.policy.params, *rule::find_parameter(*from, name(Role::hysteresis)), StateValue(whole), "");
      rule::prepare(source.policy);
      source.state = rule::initial_state(source.policy);
      for (std::int64_t spent = 0; spent < whole; ++spent) {
        const bool is_looked_at = whole == 4 || spent == 1;
        for (const PolicySpec* to : is_looked_at ? with_hysteresis : std::vector<const PolicySpec*>()) {
          INFO(pair_name(*from, *to) << ", " << spent << " of " << whole << " are spent");
          const Conversion there = convert(to_state(source), {std::string(to->name), std::string(to->variant), {}});
          CHECK(overflows_to_backoff(source) == whole - spent);
          CHECK(overflows_to_backoff(start_from(there.state)) == whole - spent);
        }
        rule::advance(source.policy, source.state, true, source.counters);
      }
    }
  }
}

TEST_CASE("A torch state keeps its clean steps in flax, which counts one more and takes the interval one less") {
  const Conversion conversion = convert(torch_state(4096.0, 42), {"flax", "", {}});
  CHECK(value_of(conversion, "fields.scale").outcome == Outcome::carried);
  CHECK(get(conversion.state, "growth_interval") == StateValue(std::int64_t{1999}));
  CHECK(value_of(conversion, "params.growth_interval").outcome == Outcome::converted);
  CHECK(get(conversion.state, "fin_steps") == StateValue(std::int64_t{42}));
  CHECK(clean_steps_to_growth(start_from(conversion.state)) == 1958);
}

TEST_CASE("DeepSpeed's ZeRO counts from its last overflow: the account gives the formula") {
  const Conversion conversion = convert(torch_state(4096.0, 42), {"deepspeed", "zero", {}});
  CHECK(get(conversion.state, "cur_iter") == StateValue(std::int64_t{43}));
  CHECK(get(conversion.state, "last_overflow_iter") == StateValue(std::int64_t{-1}));
  CHECK(get(conversion.state, "scale_window") == StateValue(std::int64_t{2000}));
  CHECK(get(conversion.state, "hysteresis") == StateValue(std::int64_t{1}));
  CHECK(value_of(conversion, "fields.last_overflow_iter").why == "43 - 1 - 43: so that 1958 clean steps are left");
  CHECK(value_of(conversion, "params.min_scale").outcome == Outcome::defaulted);
}

TEST_CASE("Right behind an overflow no target grows at its next clean step") {
  for (const PolicySpec* from : dynamic_policies()) {
    RunningState source;
    source.policy = rule::make_policy(*from);
    rule::prepare(source.policy);
    source.state = rule::initial_state(source.policy);
    rule::advance(source.policy, source.state, true, source.counters);
    if (clean_steps_to_growth(source).value_or(1) == 1) continue;
    for (const PolicySpec* to : dynamic_policies()) {
      INFO(pair_name(*from, *to));
      const Conversion there = convert(to_state(source), {std::string(to->name), std::string(to->variant), {}});
      CHECK(clean_steps_to_growth(start_from(there.state)) != 1);
    }
  }
}

TEST_CASE("A floor that jmp has where none is given goes with its state, and none goes where there is none") {
  const auto floor_in_flax = [](const char* policy) {
    RunningState source;
    source.policy = rule::make_policy(require_policy(policy, ""));
    rule::prepare(source.policy);
    source.state = rule::initial_state(source.policy);
    return get(convert(to_state(source), {"flax", "", {}}).state, "minimum_scale");
  };
  CHECK(floor_in_flax("jmp") == StateValue(1.0));
  CHECK(floor_in_flax("colossalai") == StateValue());
}

TEST_CASE("A scale above apex's ceiling is clamped, and the account says by what") {
  const Conversion conversion = convert(torch_state(0x1p32, 0), {"apex", "", {}});
  const ConvertedValue& scale = value_of(conversion, "fields.loss_scale");
  CHECK(scale.outcome == Outcome::clamped);
  CHECK(scale.after == StateValue(0x1p24));
  CHECK(scale.why == "max_loss_scale is 16777216.0");
}

TEST_CASE("A counter past its interval is stuck in torch: the target grows at the next clean step, with a warning") {
  const Conversion conversion = convert(torch_state(4096.0, 5000), {"megatron", "", {}});
  CHECK(clean_steps_to_growth(start_from(conversion.state)) == 1);
  REQUIRE(conversion.warnings.size() == 1);
  CHECK_THAT(conversion.warnings[0], Catch::Contains("5000 is at or past its interval 2000"));
}

TEST_CASE("What the source does not hold is assumed and named, unless the user gives it") {
  ScalerState megatron;
  megatron.policy = "megatron";
  megatron.fields.set("scale", 4096.0);
  megatron.fields.set("growth_tracker", std::int64_t{7});
  megatron.fields.set("hysteresis_tracker", std::int64_t{2});
  const Conversion assumed = convert(megatron, {"torch", "", {}});
  const ConvertedValue& left = value_of(assumed, "fields.hysteresis_tracker");  // torch has no place for it
  CHECK(left.outcome == Outcome::lost);
  CHECK(left.before == StateValue(std::int64_t{2}));
  CHECK_FALSE(left.why.empty());
  CHECK(value_of(assumed, "params.growth_interval").outcome == Outcome::assumed);
  CHECK(get(assumed.state, "growth_interval") == StateValue(std::int64_t{1000}));
  StateSection given;
  given.set("window", StateValue(std::int64_t{500}));
  const Conversion told = convert(megatron, {"torch", "", given});
  CHECK(value_of(told, "params.growth_interval").outcome == Outcome::given);
  CHECK(get(told.state, "growth_interval") == StateValue(std::int64_t{500}));
  CHECK(told.divergence);  // torch backs off at the first overflow
}

TEST_CASE("Into mindformers' adaptive window goes the nearest level, with the period that it truly has") {
  const Conversion conversion = convert(torch_state(4096.0, 42), {"mindformers_adaptive", "", {}});
  CHECK(get(conversion.state, "fields.scale_window") == StateValue(std::int64_t{1000}));
  CHECK(get(conversion.state, "params.scale_window") == StateValue(std::int64_t{1000}));
  CHECK(get(conversion.state, "list_index") == StateValue(std::int64_t{7}));
  CHECK_THAT(value_of(conversion, "fields.scale_window").why, Catch::Contains("nearest to 2000"));
  CHECK(clean_steps_to_growth(start_from(conversion.state)) == 1000);
  CHECK(get(conversion.state, "last_overflow_iterator_step") == StateValue(std::int64_t{0}));
  CHECK_THAT(conversion.warnings.at(0), Catch::Contains("after 1000 clean steps, the source's after 1958"));
  ScalerState exact = torch_state(4096.0, 42);
  exact.params.set("growth_interval", std::int64_t{100});
  const Conversion carried = convert(exact, {"mindformers_adaptive", "", {}});
  CHECK(value_of(carried, "fields.scale_window").outcome == Outcome::carried);
  CHECK(get(carried.state, "list_index") == StateValue(std::int64_t{4}));
}

TEST_CASE("What is given for the target is held to what its framework takes, what the source had is carried") {
  const auto given = [](const char* policy, const char* key, double value) {
    StateSection one;
    one.set(key, StateValue(value));
    return convert(torch_state(4096.0, 42), {policy, "", one});
  };
  const auto levels = "max_scale_window is not greater than min_scale_window";
  CHECK_THROWS_WITH(given("mindformers_adaptive", "max_scale_window", 10), levels);
  CHECK_THROWS_WITH(given("mindformers_adaptive", "max_scale_window", 20), levels);
  CHECK_THROWS_WITH(given("mindformers_adaptive", "min_scale_window", 5000), levels);
  CHECK_THROWS_WITH(given("mindformers_adaptive", "min_scale_window", -1), Catch::StartsWith("min_scale_window is -1"));
  CHECK_THROWS_WITH(given("megatron", "hysteresis", -3), Catch::StartsWith("hysteresis is -3, allowed:"));
  CHECK(get(given("mindformers_adaptive", "max_scale_window", 200).state, "fields.scale_window") ==
        StateValue(std::int64_t{200}));
  ScalerState odd = torch_state(4096.0, 42);
  odd.params.set("growth_interval", std::int64_t{-7});
  StateSection sound;
  sound.set("min_scale", StateValue(2.0));
  CHECK(get(convert(odd, {"megatron", "", sound}).state, "growth_interval") == StateValue(std::int64_t{-7}));
}

TEST_CASE(
    "What the target's file and framework do not take is told as lost, with the value that the run had or was to "
    "have") {
  class KeepsNoParameter final : public Keeper {
   public:
    [[nodiscard]] bool holds(const rule::ParameterSpec&) const override { return false; }
    [[nodiscard]] bool is_told(const rule::ParameterSpec&) const override { return false; }
    [[nodiscard]] std::string why_not(std::string_view native, std::optional<Role>) const override {
      return std::string(native) + " is fixed in its code";
    }
    [[nodiscard]] ScalerState saved(const ScalerState& state) override {
      ScalerState kept;
      kept.policy = state.policy;
      kept.fields = state.fields;
      return kept;
    }
  } keeper;
  ScalerState steep = torch_state(4096.0, 42);
  steep.params.set("growth_factor", 3.0);
  StateSection wanted;
  wanted.set("min_scale", StateValue(2.0));
  const Conversion conversion = convert(steep, {"megatron", "", wanted, {}, &keeper});
  const ConvertedValue& stored = value_of(conversion, "params.growth_factor");
  CHECK(stored.outcome == Outcome::lost);
  CHECK(stored.before == StateValue(3.0));
  CHECK(stored.after == StateValue());
  CHECK(stored.why == "growth_factor is fixed in its code");
  const ConvertedValue& asked = value_of(conversion, "params.min_scale");
  CHECK(asked.outcome == Outcome::lost);
  CHECK(asked.before == StateValue(2.0));
  CHECK(asked.source_key.empty());
}

TEST_CASE("A name that neither side knows, and a policy that follows statistics, are refused") {
  StateSection given;
  given.set("no_such_thing", StateValue(1.0));
  CHECK_THROWS_AS(convert(torch_state(1.0, 0), {"megatron", "", given}), Error);
  CHECK_THROWS_AS(convert(torch_state(1.0, 0), {"layerwise", "", {}}), Error);
  CHECK_THROWS_AS(convert(torch_state(1.0, 0), {"no_such_policy", "", {}}), Error);
}

}  // namespace tare
