#include "lib/state/phase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/rule/policy.hpp"
#include "lib/state/behaviour.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

using rule::RunningState;
using Counter = std::function<std::optional<std::int64_t>(Role)>;

/// One clean step more than a fresh scaler needs, as rules do that need one more than their window. Of absolute steps a
/// remainder is taken, and that of 0 grows at once.
constexpr std::int64_t least_growth_tracker = -1, least_distance = 0;

const rule::FieldSpec* field_of(const RunningState& scaler, Role role) {
  const rule::PolicySpec& spec = rule::spec_of(scaler.policy.id);
  const rule::FieldSpec* field = rule::find_field(spec, name(role));
  return field != nullptr && field->role == name(role) ? field : nullptr;
}

void put(RunningState& scaler, Role role, std::int64_t value) {
  assign(scaler.state, *field_of(scaler, role), StateValue(value), name(role));
}

std::int64_t counter_of(const RunningState& scaler, Role role) {
  return integer_of(value_of(scaler.state, *field_of(scaler, role)), name(role));
}

class PhaseTransfer {
 public:
  PhaseTransfer(const RunningState& from, RunningState& to, const Counter& counter)
      : from_(from), to_(to), counter_(counter) {}

  Phase run() {
    set_growth();
    set_hysteresis();
    return std::move(phase_);
  }

 private:
  void set_growth() {
    const auto wanted = wanted_clean_steps();
    const auto fresh = clean_steps_to_growth(to_);
    if (!wanted || !fresh) return;
    // Where no counter of the rule's comes to so many clean steps, it starts anew: its first period is as its others.
    const bool has_tracker = field_of(to_, Role::growth_tracker) != nullptr;
    const std::int64_t least = has_tracker ? least_growth_tracker : least_distance;
    const std::int64_t counted = *fresh - *wanted < least ? 0 : *fresh - *wanted;
    if (has_tracker) {
      set_tracker(*fresh, counted);
    } else if (field_of(to_, Role::last_overflow_step) != nullptr) {
      set_steps(*fresh - counted, counted);
    } else {
      phase_.warnings.push_back(fmt::format("{} stores no counter: it grows after {} clean steps, the source after {}",
                                            framework(to_), *fresh, *wanted));
      return;
    }
    const auto reached = clean_steps_to_growth(to_);
    if (reached == wanted) return;
    const std::string grows =
        reached ? fmt::format("the next growth comes after {} clean steps", *reached) : "no growth comes";
    phase_.warnings.push_back(
        fmt::format("{}, the source's after {}: {}'s counters cannot say so", grows, *wanted, framework(to_)));
  }

  void set_tracker(std::int64_t fresh, std::int64_t counted) {
    put(to_, Role::growth_tracker, counted);
    phase_.why[Role::growth_tracker] =
        fmt::format("{} - {}: clean steps that a fresh one needs, less those left", fresh, fresh - counted);
  }

  /// Frameworks that keep absolute steps: `counted` clean ones lie between the last overflow and now.
  void set_steps(std::int64_t left, std::int64_t counted) {
    const std::int64_t first_step = counter_of(to_, Role::step);
    const std::int64_t first_last = counter_of(to_, Role::last_overflow_step);
    const std::int64_t step = std::max(counter_(Role::step).value_or(0), first_step + counted);
    put(to_, Role::step, step);
    put(to_, Role::last_overflow_step, step - (first_step - first_last) - counted);
    phase_.why[Role::step] = "as many steps at least as are counted";
    phase_.why[Role::last_overflow_step] =
        fmt::format("{} - {} - {}: so that {} clean steps are left", step, first_step - first_last, counted, left);
  }

  /// A tracker at or past an interval that it is compared to by == never gets there: such a scaler is stuck.
  std::optional<std::int64_t> wanted_clean_steps() {
    const auto wanted = clean_steps_to_growth(from_);
    const auto tracker = counter_(Role::growth_tracker);
    const auto interval = counter_(Role::growth_interval);
    if (wanted || !tracker || !interval || *tracker < *interval) return wanted;
    phase_.warnings.push_back(
        fmt::format("the source is stuck: its counter {} is at or past its interval {}, and {} tests "
                    "for equality; the target grows at the next clean step",
                    *tracker, *interval, framework(from_)));
    return 1;
  }

  void set_hysteresis() {
    const auto wanted = overflows_to_backoff(from_);
    if (!wanted || overflows_to_backoff(to_) == wanted) return;
    // Counters count down to the back-off, or up to it from 0.
    const std::int64_t most = std::max(*wanted, overflows_to_backoff(fresh_target()).value_or(0));
    for (const Role role : {Role::hysteresis_tracker, Role::overflow_tracker}) {
      if (field_of(to_, role) == nullptr) continue;
      const std::int64_t before = counter_of(to_, role);
      for (std::int64_t value = 0; value <= most; ++value) {
        put(to_, role, value);
        if (overflows_to_backoff(to_) != wanted) continue;
        phase_.why[role] = fmt::format("so that overflow {} backs off", *wanted);
        return;
      }
      put(to_, role, before);
    }
    const auto reached = overflows_to_backoff(to_);
    const std::string falls =
        reached ? fmt::format("the scale falls at overflow {}", *reached) : "the scale never falls";
    phase_.warnings.push_back(fmt::format("{}, the source's at overflow {}", falls, *wanted));
  }

  [[nodiscard]] RunningState fresh_target() const {
    RunningState fresh = to_;
    fresh.state = rule::initial_state(fresh.policy);
    return fresh;
  }

  static std::string framework(const RunningState& scaler) {
    return std::string(rule::spec_of(scaler.policy.id).framework);
  }

  const RunningState& from_;
  RunningState& to_;
  const Counter& counter_;
  Phase phase_;
};

}  // namespace

Phase transfer_phase(const RunningState& from, RunningState& to, const Counter& counter) {
  return PhaseTransfer(from, to, counter).run();
}

}  // namespace tare
