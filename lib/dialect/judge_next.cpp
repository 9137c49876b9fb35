#include "lib/dialect/judge_next.hpp"

#include <fmt/format.h>

#include <functional>

#include "kernels/rule/policy.hpp"
#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/state/behaviour.hpp"
#include "lib/state/policy_state.hpp"

namespace tare {
namespace {

/// More overflows than any hysteresis asks for.
constexpr int most_overflows = 16;
/// A tracker of -1 stands for one clean step more: the migration from rules that need window + 1 makes it.
constexpr std::int64_t least_growth_tracker = -1;

/// A counter as it is stored; null where there is none. Doubles would round it from 2^53 on.
const Value* counted(const FoundScaler& scaler, Role role) {
  const Value* value = scaler.known(role);
  return value == nullptr ? nullptr : value->number();
}

Value whole(std::int64_t number) {
  return {Integer{number, {}}, "int"};
}

bool is_less(const Value& a, const Value& b) {
  const auto* one = std::get_if<Integer>(&a.data);
  const auto* other = std::get_if<Integer>(&b.data);
  if (one == nullptr || other == nullptr || one->is_big() || other->is_big()) return a.as_double() < b.as_double();
  return one->value < other->value;
}

std::string counted_as(const Value& number) {
  const auto* integer = std::get_if<Integer>(&number.data);
  return integer == nullptr ? fmt::format("{}", number.as_double()) : integer->text();
}

std::optional<RunningState> running(const FoundScaler& scaler) {
  if (scaler.dialect->policies.empty() || is_static(scaler) || counted(scaler, Role::scale) == nullptr)
    return std::nullopt;
  try {
    return start_from(to_state(scaler));
  } catch (const Error&) {
    return std::nullopt;  // a state that its rule cannot hold is told of elsewhere
  }
}

/// The rule raises in one of the next overflows, before it has backed off.
std::optional<std::string> why_it_stops(RunningState scaler) {
  const double scale = rule::scale_of(scaler.policy.id, scaler.state);
  for (int count = 1; count <= most_overflows; ++count) {
    const rule::Raised raised = rule::advance(scaler.policy, scaler.state, true, scaler.counters).raised;
    if (raised == rule::Raised::scale_at_minimum || raised == rule::Raised::minimum_reached) {
      const std::string which = count == 1 ? "the next overflow ends" : fmt::format("{} overflows end", count);
      return fmt::format("scale is {}: {} the run: {}", float_text(scale), which,
                         rule::message_of(scaler.policy, raised));
    }
    if (raised != rule::Raised::nothing || rule::scale_of(scaler.policy.id, scaler.state) != scale) break;
  }
  return std::nullopt;
}

/// Of counters: what no step of the rule leaves.
std::optional<std::string> out_of_reach(const FoundScaler& scaler) {
  const auto never = [&](const std::string& what) {
    return fmt::format("{}: {} never leaves it so", what, scaler.dialect->framework);
  };
  const Value* step = counted(scaler, Role::step);
  const Value* last = counted(scaler, Role::last_overflow_step);
  const Value* growth = counted(scaler, Role::growth_tracker);
  const Value* left = counted(scaler, Role::hysteresis_tracker);
  const Value* all = counted(scaler, Role::hysteresis);
  const Value* seen = counted(scaler, Role::overflow_tracker);
  if (step && is_less(*step, whole(0))) return never(fmt::format("step is {}: below 0", counted_as(*step)));
  if (step && last && is_less(*step, *last)) {
    return never(fmt::format("last_overflow_step {} lies ahead of step {}", counted_as(*last), counted_as(*step)));
  }
  if (growth && is_less(*growth, whole(least_growth_tracker))) {
    return never(fmt::format("growth_tracker is {}: below 0", counted_as(*growth)));
  }
  if (left && all && is_less(*all, *left)) {
    return never(
        fmt::format("hysteresis_tracker {} is greater than the hysteresis {}", counted_as(*left), counted_as(*all)));
  }
  if (seen && is_less(*seen, whole(0))) {
    return never(fmt::format("overflow_tracker is {}: below 0", counted_as(*seen)));
  }
  return std::nullopt;
}

bool is_hysteresis_spent(const FoundScaler& scaler, const RunningState& state) {
  if (scaler.find(Role::hysteresis_tracker) == nullptr) return false;
  RunningState fresh = state;
  fresh.state = rule::initial_state(fresh.policy);
  return overflows_to_backoff(state) == 1 && overflows_to_backoff(fresh).value_or(1) > 1;
}

}  // namespace

std::vector<Finding> judge_next(const FoundScaler& scaler) {
  std::vector<Finding> findings;
  const auto tell = [&](Severity severity, const char* code, std::string message) {
    findings.push_back({severity, code, std::move(message), "", scaler.path});
  };
  if (const auto why = out_of_reach(scaler)) tell(Severity::warning, "counter-out-of-reach", *why);
  if (const auto policy = unknown_policy(scaler)) {
    tell(Severity::warning, "state-not-loaded",
         fmt::format("the policy '{}' is none of this tare's: nothing of what it does is judged", escaped(*policy)));
  }
  if (const auto why = why_not_loaded(scaler)) {
    tell(Severity::warning, "state-not-loaded", fmt::format("no scaler starts from it: {}", *why));
  }
  const auto state = running(scaler);
  if (!state || !(rule::scale_of(state->policy.id, state->state) > 0)) return findings;  // judge tells of such a scale
  if (const auto why = why_it_stops(*state)) tell(Severity::warning, "overflow-stops-run", *why);
  if (is_hysteresis_spent(scaler, *state)) {
    tell(Severity::note, "hysteresis-spent", "no overflow is forgiven any more: the next one backs off");
  }
  return findings;
}

}  // namespace tare
