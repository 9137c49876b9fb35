// Values between a state and the policy tables (kernels/rule/policy.hpp): the schema of every policy.
#pragma once

#include <string>
#include <string_view>

#include "kernels/rule/policy.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

inline constexpr std::string_view floor_key = "floor";
inline constexpr std::string_view ceiling_key = "ceiling";

/// The policy and variant that a state names; null for a policy that this tare does not know. Throws `mismatch` for an
/// unknown variant of a known policy.
const rule::PolicySpec* policy_of(const ScalerState& state);

/// The policy of that name and variant (empty: the usual one). Throws `invalid_argument` and names what there is.
const rule::PolicySpec& require_policy(std::string_view name, std::string_view variant);

/// "deepspeed zero"
std::string full_name(const rule::PolicySpec& spec);

/// By the framework's name, a role, or a role's alias ("window"). Null when there is none.
const rule::ParameterSpec* parameter_for(const rule::PolicySpec& spec, std::string_view key);
const rule::FieldSpec* field_for(const rule::PolicySpec& spec, std::string_view key);

/// `value` in the type that the policy keeps: text such as "0x1p16" or "nan" becomes a number, a whole float an int.
/// Throws `mismatch`, with `what` in the message.
StateValue converted(const rule::ParameterSpec& spec, const StateValue& value, std::string_view what);
StateValue converted(const rule::FieldSpec& spec, const StateValue& value, std::string_view what);

/// Puts a value into the parameters or the rule's state. Throws `mismatch` where it cannot be held.
void assign(rule::RuleParams& into, const rule::ParameterSpec& spec, const StateValue& value, std::string_view what);
void assign(rule::RuleState& into, const rule::FieldSpec& spec, const StateValue& value, std::string_view what);

StateValue value_of(const rule::RuleParams& params, const rule::ParameterSpec& spec);
StateValue value_of(const rule::RuleState& state, const rule::FieldSpec& spec);

/// "growth_factor, backoff_factor, ... floor, ceiling": what a configuration of that policy may name.
std::string parameter_names(const rule::PolicySpec& spec);

}  // namespace tare
