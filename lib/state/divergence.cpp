#include "lib/state/divergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "kernels/rule/policy.hpp"
#include "lib/state/behaviour.hpp"
#include "lib/state/pattern_search.hpp"
#include "lib/state/running.hpp"

namespace tare {
namespace {

using rule::RunningState;

constexpr std::uint32_t seed = 2391;
/// Of each kind of mixed steps; usual ones are as many as this many windows have, but no more than a limit.
constexpr std::int64_t mixed_steps = 10'000;
constexpr std::int64_t usual_windows = 12;
constexpr std::int64_t most_usual_steps = 100'000;
/// Powers of two from float32's smallest number to beyond its largest: a way to a bound leads through no more.
constexpr double octaves = 278;
constexpr std::int64_t most_steps_to_bound = 300'000;
/// Enough for MindSpore's manager to give up.
constexpr std::int64_t least_overflow_steps = 1'100;
/// What may come before a way to a bound: it ends a counter that is stuck, or opens mindformers' window of 1.
constexpr auto steps_before = std::to_array<std::int64_t>({0, 1, 3});
/// Where rules part on the way to a bound, other ways may lead there sooner: so many are tried, in so many steps in
/// all.
constexpr std::uint32_t shorter_ways = 200;
constexpr std::int64_t most_steps_of_shorter_ways = 1'000'000;
constexpr auto overflow_shares = std::to_array<double>({0.5, 0.1, 0.3, 0.02});
/// More overflows than these are no training any more.
constexpr std::int64_t most_usual_overflows = 32;
constexpr std::size_t most_told_runs = 5;

std::string_view movement(double before, double after) {
  return after > before ? "grows" : after < before ? "backs off" : "stays";
}

std::string reason(double before, double after, double other_before, double other_after) {
  if (!same_scale(before, other_before)) return "they start from different scales";
  const std::string_view one = movement(before, after);
  const std::string_view two = movement(other_before, other_after);
  if (one != two) return fmt::format("the source {}, the target {}", one, two);
  return one == "grows" ? "both grow, not alike" : "both back off, not alike";
}

// ---- sequences

StepSequence random_steps(std::string name, double share, std::uint32_t which = 0) {
  auto generator = std::make_shared<std::mt19937>(seed + which);
  const auto limit = static_cast<std::uint32_t>(share * 4294967295.0);
  return {std::move(name), mixed_steps, [=](std::int64_t) { return (*generator)() < limit; }};
}

/// Overflows half a window to two windows and a half apart: the scale goes up about as often as down.
StepSequence usual_steps(std::int64_t window) {
  auto generator = std::make_shared<std::mt19937>(seed);
  const auto gap = [=] { return window / 2 + static_cast<std::int64_t>((*generator)()) % (2 * window); };
  return {"usual steps, an overflow every one or two windows", std::min(usual_windows * window, most_usual_steps),
          [gap, next = gap()](std::int64_t step) mutable {
            if (step < next) return false;
            next = step + 1 + gap();
            return true;
          }};
}

StepSequence alternating_steps() {
  return {"an overflow in every second step", mixed_steps, [](std::int64_t step) { return step % 2 == 0; }};
}

std::string run_text(bool overflow, std::size_t count) {
  if (count == 1) return overflow ? "an overflow" : "a clean step";
  return fmt::format("{} {}", count, overflow ? "overflows" : "clean steps");
}

/// "33 clean steps", "an overflow, 49 clean steps" ...
std::string pattern_text(const std::vector<bool>& pattern) {
  std::vector<std::string> runs;
  for (auto from = pattern.begin(); from != pattern.end();) {
    const auto to = std::find(from, pattern.end(), !*from);
    runs.push_back(run_text(*from, static_cast<std::size_t>(to - from)));
    from = to;
  }
  if (runs.size() <= most_told_runs) return fmt::format("{}", fmt::join(runs, ", "));
  return fmt::format("{} steps of which {} overflow", pattern.size(), std::count(pattern.begin(), pattern.end(), true));
}

StepSequence pattern_steps(const std::vector<bool>& pattern) {
  return {pattern_text(pattern), static_cast<std::int64_t>(pattern.size()),
          [=](std::int64_t step) { return pattern[static_cast<std::size_t>(step)]; }};
}

/// Straight to a bound, after `before` steps of the other kind.
StepSequence steps_to_bound(bool overflow, std::int64_t before, std::int64_t steps) {
  const std::string straight = overflow ? "overflows alone" : "clean steps alone";
  return {before == 0 ? straight
                      : fmt::format("{}, then {}", run_text(!overflow, static_cast<std::size_t>(before)), straight),
          before + steps, [=](std::int64_t step) { return (step < before) != overflow; }};
}

// ---- the comparison

class RuleComparison {
 public:
  RuleComparison(const RunningState& scaler, const RunningState& other)
      : scaler_(scaler), other_(other), window_(longest_window()) {}

  Comparison run() {
    try_usual();
    try_own_patterns();
    for (const std::int64_t before : steps_before) {
      try_steps(steps_to_bound(true, before, overflows_to_floor()));
      try_steps(steps_to_bound(false, before, steps_for(changes_by(Role::growth_factor), window_)));
    }
    try_steps(random_steps("overflows in a tenth of the steps, at random", 0.1));
    try_steps(random_steps("overflows in half of the steps, at random", 0.5));
    try_steps(alternating_steps());
    try_shorter_ways();
    if (found_.first) found_.first->is_usual = found_.usual.has_value();
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::int64_t longest_window() const {
    return std::max({clean_steps_between_growths(scaler_).value_or(0), clean_steps_between_growths(other_).value_or(0),
                     std::int64_t{1}});
  }

  /// How often the slower of the two changes its scale from one end of float32 to the other.
  [[nodiscard]] double changes_by(Role factor) const {
    double changes = octaves;
    for (const RunningState* one : {&scaler_, &other_}) {
      const double per_change = std::fabs(std::log2(measured(factor, *one).value_or(2)));
      if (per_change > 0) changes = std::max(changes, octaves / per_change);
    }
    return changes;
  }

  static std::int64_t steps_for(double changes, std::int64_t steps_a_change) {
    const double steps = std::ceil(changes) * static_cast<double>(steps_a_change);
    return static_cast<std::int64_t>(std::min(steps, static_cast<double>(most_steps_to_bound)));
  }

  [[nodiscard]] std::int64_t overflows_to_floor() const {
    double hysteresis = 1;
    for (const RunningState* one : {&scaler_, &other_}) {
      hysteresis = std::max(hysteresis, measured(Role::hysteresis, *one).value_or(1));
    }
    const std::int64_t steps = steps_for(changes_by(Role::backoff_factor) * hysteresis, 1);
    return std::max(steps, least_overflow_steps);
  }

  void try_usual() {
    if (const auto pattern = shortest_parting(scaler_, other_, SearchedScales::middle)) {
      const bool is_usual = std::count(pattern->begin(), pattern->end(), true) <= most_usual_overflows;
      take(first_divergence(scaler_, other_, pattern_steps(*pattern)), is_usual);
    }
    take(first_divergence(scaler_, other_, usual_steps(window_)), true);
  }

  void try_own_patterns() {
    const auto pattern = shortest_parting(scaler_, other_, SearchedScales::own);
    if (pattern) try_steps(pattern_steps(*pattern));
  }

  void try_shorter_ways() {
    std::int64_t left = most_steps_of_shorter_ways;
    for (std::uint32_t which = 1; which <= shorter_ways && found_.first && left > 0; ++which) {
      const double share = overflow_shares[which % overflow_shares.size()];
      StepSequence way =
          random_steps(fmt::format("overflows in {} of 100 steps, at random", 100 * share), share, which);
      way.steps = std::min(way.steps, found_.first->step - 1);
      left -= way.steps;
      try_steps(way);
    }
  }

  void try_steps(const StepSequence& sequence) { take(first_divergence(scaler_, other_, sequence), false); }

  void take(const std::optional<Divergence>& divergence, bool is_usual) {
    if (!divergence) return;
    if (!found_.first || divergence->step < found_.first->step) found_.first = divergence;
    if (!is_usual || (found_.usual && found_.usual->step <= divergence->step)) return;
    found_.usual = divergence;
    found_.usual->is_usual = true;
  }

  const RunningState& scaler_;
  const RunningState& other_;
  std::int64_t window_;
  Comparison found_;
};

}  // namespace

std::optional<Divergence> first_divergence(RunningState scaler, RunningState other, const StepSequence& sequence) {
  for (std::int64_t i = 0; i < sequence.steps; ++i) {
    const bool overflow = sequence.overflows(i);
    const double before = scale_of(scaler);
    const double other_before = scale_of(other);
    const rule::Raised raised = step(scaler, overflow);
    const rule::Raised other_raised = step(other, overflow);
    const bool one = raised != rule::Raised::nothing;
    const bool two = other_raised != rule::Raised::nothing;
    if (one && two) return std::nullopt;
    if (!one && !two && same_scale(scale_of(scaler), scale_of(other))) continue;
    Divergence divergence{sequence.name, i + 1, scale_of(scaler), scale_of(other)};
    divergence.raised = one   ? rule::message_of(scaler.policy, raised)
                        : two ? rule::message_of(other.policy, other_raised)
                              : std::string();
    divergence.other_raised = two;
    divergence.why = one || two ? fmt::format("the {} stops", two ? "target" : "source")
                                : reason(before, divergence.scale, other_before, divergence.other);
    return divergence;
  }
  return std::nullopt;
}

Comparison compare_rules(const RunningState& scaler, const RunningState& other) {
  return RuleComparison(scaler, other).run();
}

}  // namespace tare
