#include "lib/state/behaviour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "kernels/rule/policy.hpp"
#include "lib/state/rule_memory.hpp"
#include "lib/state/running.hpp"

namespace tare {
namespace {

using rule::RunningState;

constexpr std::int64_t most_clean_steps = std::int64_t{1} << 22;
constexpr std::int64_t least_clean_steps = 4096;
/// No framework asks for as many overflows in a row.
constexpr std::int64_t most_overflows = 1000;

void put(RunningState& scaler, std::string_view role, double value) {
  const rule::PolicySpec& spec = rule::spec_of(scaler.policy.id);
  const rule::ParameterSpec* parameter = rule::find_parameter(spec, role);
  if (parameter != nullptr && parameter->role == role) {
    rule::write_parameter(scaler.policy.params, *parameter, rule::real_number(value));
  }
}

/// A stretch of equal steps that ended with what was waited for.
struct Stretch {
  std::int64_t steps;
  double before, after;  ///< the scale, around the last step
  RunningState at_end;
};

std::optional<Stretch> until(RunningState scaler, bool overflow, std::int64_t rule::Counters::*event,
                             std::int64_t limit) {
  for (std::int64_t steps = 1; steps <= limit; ++steps) {
    const double before = scale_of(scaler);
    if (step(scaler, overflow) != rule::Raised::nothing) return std::nullopt;
    if (scaler.counters.*event > 0) return Stretch{steps, before, scale_of(scaler), scaler};
  }
  return std::nullopt;
}

/// Clean steps after which a growth that has not come never will: twice what its counters and intervals add up to.
std::int64_t clean_steps_to_try(const RunningState& scaler) {
  double sum = 0;
  for (const std::int64_t count : memory_of(scaler)) sum += std::fabs(static_cast<double>(count));
  const rule::PolicySpec& spec = rule::spec_of(scaler.policy.id);
  const auto* interval = rule::find_parameter(spec, name(Role::growth_interval));
  if (interval != nullptr) sum += std::fabs(rule::value_of(rule::read_parameter(scaler.policy.params, *interval)));
  const double wanted = std::min(2 * sum, static_cast<double>(most_clean_steps));
  return std::max(static_cast<std::int64_t>(wanted), least_clean_steps);
}

std::optional<Stretch> until_growth(const RunningState& scaler) {
  return until(away_from_bounds(scaler), false, &rule::Counters::growths, clean_steps_to_try(scaler));
}

std::optional<Stretch> until_backoff(const RunningState& scaler) {
  return until(away_from_bounds(scaler), true, &rule::Counters::backoffs, most_overflows);
}

std::optional<double> as_double(std::optional<std::int64_t> count) {
  return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
}

std::optional<double> factor(const std::optional<Stretch>& stretch) {
  return stretch ? std::optional(stretch->after / stretch->before) : std::nullopt;
}

RunningState fresh(RunningState scaler) {
  scaler.state = rule::initial_state(scaler.policy);
  return scaler;
}

std::optional<double> clean_steps_left(const RunningState& scaler) {
  return as_double(clean_steps_to_growth(scaler));
}

std::optional<double> overflows_left(const RunningState& scaler) {
  return as_double(overflows_to_backoff(scaler));
}

struct Measure {
  Role role;
  std::optional<double> (*of)(const RunningState&);
};

constexpr auto measures = std::to_array<Measure>({
    {Role::growth_tracker, clean_steps_left},
    {Role::last_overflow_step, clean_steps_left},
    {Role::hysteresis_tracker, overflows_left},
    {Role::overflow_tracker, overflows_left},
    {Role::growth_interval, [](const RunningState& s) { return as_double(clean_steps_between_growths(s)); }},
    {Role::growth_factor, [](const RunningState& s) { return factor(until_growth(fresh(s))); }},
    {Role::backoff_factor, [](const RunningState& s) { return factor(until_backoff(fresh(s))); }},
    {Role::hysteresis, [](const RunningState& s) { return overflows_left(fresh(s)); }},
    {Role::dynamic, [](const RunningState& s) { return std::optional(overflows_left(fresh(s)) ? 1.0 : 0.0); }},
});

}  // namespace

RunningState away_from_bounds(RunningState scaler) {
  constexpr double middle = 0x1p10;  // float16 scales end at 2^15
  scaler.policy.bounds = {};
  scaler.counters = {};
  put(scaler, "min_scale", 0x1p-10);
  put(scaler, "max_scale", 0x1p24);
  scaler.state = rule::with_scale(scaler.policy, scaler.state, middle).state;
  return scaler;
}

std::optional<std::int64_t> clean_steps_to_growth(const RunningState& scaler) {
  const auto stretch = until_growth(scaler);
  return stretch ? std::optional(stretch->steps) : std::nullopt;
}

std::optional<std::int64_t> clean_steps_between_growths(const RunningState& scaler) {
  const auto first = until_growth(scaler);
  const auto second = first ? until_growth(first->at_end) : std::nullopt;
  return second ? std::optional(second->steps) : std::nullopt;
}

std::optional<std::int64_t> overflows_to_backoff(const RunningState& scaler) {
  const auto stretch = until_backoff(scaler);
  return stretch ? std::optional(stretch->steps) : std::nullopt;
}

std::optional<double> floor_of(RunningState scaler) {
  constexpr double top = 0x1p10, lowest = 0x1p-20;
  scaler.state = rule::with_scale(scaler.policy, scaler.state, top).state;
  for (std::int64_t i = 0; i < most_overflows; ++i) {
    if (step(scaler, true) != rule::Raised::nothing) return std::nullopt;
  }
  const double bottom = scale_of(scaler);
  return bottom >= lowest && bottom < top ? std::optional(bottom) : std::nullopt;
}

std::optional<double> measured(Role role, const RunningState& scaler) {
  const auto measure = std::find_if(measures.begin(), measures.end(), [&](const Measure& m) { return m.role == role; });
  return measure == measures.end() ? std::nullopt : measure->of(scaler);
}

}  // namespace tare
