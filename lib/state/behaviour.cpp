#include "lib/state/behaviour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <string_view>

#include "kernels/rule/policy.hpp"

namespace tare {
namespace {

using rule::RunningState;

constexpr std::int64_t most_clean_steps = std::int64_t{1} << 22;
/// No framework asks for as many overflows in a row.
constexpr std::int64_t most_overflows = 1000;
/// Of each kind of mixed steps that two scalers are compared on; usual ones are as many as this many windows have, but
/// no more than a limit.
constexpr std::int64_t mixed_steps = 10'000;
constexpr std::int64_t usual_windows = 12;
constexpr std::int64_t most_usual_steps = 100'000;
/// Enough to grow from 1 to beyond float32 under the usual windows.
constexpr std::int64_t clean_steps = 300'000;
/// Enough to fall from 2^127 to 0 where no floor is.
constexpr std::int64_t overflow_steps = 300;

void put(RunningState& scaler, std::string_view role, double value) {
  const rule::PolicySpec& spec = rule::spec_of(scaler.policy.id);
  const rule::ParameterSpec* parameter = rule::find_parameter(spec, role);
  if (parameter != nullptr && parameter->role == role) {
    rule::write_parameter(scaler.policy.params, *parameter, rule::real_number(value));
  }
}

/// The same scaler in the middle of its range: nothing that it does next is cut short.
RunningState away_from_bounds(RunningState scaler) {
  constexpr double middle = 0x1p10;  // float16 scales end at 2^15
  scaler.policy.bounds = {};
  scaler.counters = {};
  put(scaler, "min_scale", 0x1p-10);
  put(scaler, "max_scale", 0x1p24);
  scaler.state = rule::with_scale(scaler.policy, scaler.state, middle).state;
  return scaler;
}

double scale_of(const RunningState& scaler) {
  return rule::scale_of(scaler.policy.id, scaler.state);
}

rule::Raised step(RunningState& scaler, bool overflow) {
  return rule::advance(scaler.policy, scaler.state, overflow, scaler.counters).raised;
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
    if (step(scaler, overflow) != rule::Raised::kNothing) return std::nullopt;
    if (scaler.counters.*event > 0) return Stretch{steps, before, scale_of(scaler), scaler};
  }
  return std::nullopt;
}

std::optional<Stretch> until_growth(const RunningState& scaler) {
  return until(away_from_bounds(scaler), false, &rule::Counters::growths, most_clean_steps);
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

StepSequence random_steps(std::string name, double share) {
  constexpr std::uint32_t seed = 2391;
  auto generator = std::make_shared<std::mt19937>(seed);
  const auto limit = static_cast<std::uint32_t>(share * 4294967295.0);
  return {std::move(name), mixed_steps, [=](std::int64_t) { return (*generator)() < limit; }};
}

/// Overflows half a window to two windows and a half apart: the scale goes up about as often as down.
StepSequence usual_steps(const RunningState& scaler) {
  constexpr std::uint32_t seed = 2391;
  const std::int64_t window = clean_steps_between_growths(scaler).value_or(mixed_steps);
  auto generator = std::make_shared<std::mt19937>(seed);
  const auto gap = [=] { return window / 2 + static_cast<std::int64_t>((*generator)()) % (2 * window); };
  return {"usual steps, an overflow every one or two windows", std::min(usual_windows * window, most_usual_steps),
          [gap, next = gap()](std::int64_t step) mutable {
            if (step < next) return false;
            next = step + 1 + gap();
            return true;
          }};
}

bool same_scale(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

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

std::optional<double> measured(Role role, const RunningState& scaler) {
  const auto measure = std::find_if(measures.begin(), measures.end(), [&](const Measure& m) { return m.role == role; });
  return measure == measures.end() ? std::nullopt : measure->of(scaler);
}

std::optional<Divergence> first_divergence(RunningState scaler, RunningState other, const StepSequence& sequence) {
  for (std::int64_t i = 0; i < sequence.steps; ++i) {
    const bool overflow = sequence.overflows(i);
    const rule::Raised raised = step(scaler, overflow);
    const rule::Raised other_raised = step(other, overflow);
    const bool one = raised != rule::Raised::kNothing;
    const bool two = other_raised != rule::Raised::kNothing;
    if (one && two) return std::nullopt;
    if (!one && !two && same_scale(scale_of(scaler), scale_of(other))) continue;
    const std::string message = one   ? rule::message_of(scaler.policy, raised)
                                : two ? rule::message_of(other.policy, other_raised)
                                      : std::string();
    return Divergence{sequence.name, i + 1, scale_of(scaler), scale_of(other), message, two};
  }
  return std::nullopt;
}

std::optional<Divergence> first_divergence(const RunningState& scaler, const RunningState& other) {
  const auto is_clean = [](std::int64_t) { return false; };
  const auto is_overflow = [](std::int64_t) { return true; };
  const auto alternates = [](std::int64_t step) { return step % 2 == 0; };
  const std::array sequences = {
      random_steps("overflows in a tenth of the steps, at random", 0.1),
      random_steps("overflows in half of the steps, at random", 0.5),
      StepSequence{"an overflow in every second step", mixed_steps, alternates},
      StepSequence{"clean steps alone", clean_steps, is_clean},
      StepSequence{"overflows alone", overflow_steps, is_overflow},
  };
  if (auto divergence = first_divergence(scaler, other, usual_steps(scaler))) {
    divergence->is_usual = true;
    return divergence;
  }
  for (const StepSequence& sequence : sequences) {
    if (auto divergence = first_divergence(scaler, other, sequence)) return divergence;
  }
  return std::nullopt;
}

}  // namespace tare
