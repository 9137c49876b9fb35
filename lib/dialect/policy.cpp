#include "lib/dialect/policy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/no_rule.hpp"
#include "lib/dialect/frameworks/tare.hpp"
#include "lib/dialect/state_value.hpp"
#include "lib/state/policy_state.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

bool has(const FoundScaler& scaler, std::string_view name) {
  return scaler.find(name) != nullptr || std::ranges::find(scaler.beside, name) != scaler.beside.end();
}

/// Whether the field says just that.
bool says(const FoundScaler& scaler, const PolicyUse& use) {
  if (use.text.empty()) return true;
  const Field* field = scaler.find(use.having);
  const auto* word = field == nullptr ? nullptr : std::get_if<std::string>(&field->value.data);
  return word != nullptr && *word == use.text;
}

const PolicyUse& policy_of(const FoundScaler& scaler) {
  const Dialect& dialect = *scaler.dialect;
  for (const PolicyUse& use : dialect.policies) {
    if ((use.having.empty() || has(scaler, use.having)) && says(scaler, use)) return use;
  }
  refuse_without_policy(dialect);
}

/// Whether the policy calls something by that very name.
bool put_by_name(ScalerState& state, const rule::PolicySpec& spec, std::string_view name, const StateValue& value) {
  for (const rule::FieldSpec& field : spec.fields) {
    if (field.name != name && field.stored != name) continue;
    state.fields.set(field.name, value);
    return true;
  }
  for (const rule::ParameterSpec& parameter : spec.parameters) {
    if (parameter.name != name) continue;
    state.params.set(parameter.name, value);
    return true;
  }
  return false;
}

/// A role tells where a value goes whatever it is called; a value that stands there by name stays.
bool put_by_role(ScalerState& state, const rule::PolicySpec& spec, std::string_view role, const StateValue& value) {
  if (const auto* field = rule::find_field(spec, role); field != nullptr && field->role == role) {
    if (state.fields.find(field->name) == nullptr) state.fields.set(field->name, value);
    return true;
  }
  const auto* parameter = rule::find_parameter(spec, role);
  if (parameter == nullptr || parameter->role != role) return false;
  if (state.params.find(parameter->name) == nullptr) state.params.set(parameter->name, value);
  return true;
}

/// What the state says of itself comes first; a number that its framework could not use is left out.
void put_configured(ScalerState& state, const rule::PolicySpec& spec, const ConfiguredValue& configured) {
  const rule::ParameterSpec* parameter = parameter_for(spec, configured.key);
  if (parameter == nullptr || state.params.find(parameter->name) != nullptr) return;
  try {
    state.params.set(parameter->name, converted(*parameter, state_value(configured.value), configured.from));
  } catch (const Error& error) {
    if (error.status != Status::mismatch) throw;
  }
}

/// Of two numbers of one role the first counts: that one, for the other; null for all else.
const Field* twin_of(const FoundScaler& scaler, const Field& field) {
  const Field* first = field.role ? scaler.find(*field.role) : nullptr;
  return first == &field ? nullptr : first;
}

}  // namespace

void refuse_without_policy(const Dialect& dialect) {
  const auto& [why, instead] = dialect.no_policy;
  const std::string problem = fmt::format("no policy runs a state of dialect \"{}\"", dialect.name);
  if (why.empty()) throw NoRule(problem, "tare_policies lists those that run");
  throw NoRule(fmt::format("{}: {}", problem, why), std::string(instead));
}

std::optional<std::string> unknown_policy(const FoundScaler& scaler) {
  const Field* policy = is_own(scaler) ? scaler.find(std::string_view(own_policy_field)) : nullptr;
  const auto* policy_name = policy == nullptr ? nullptr : std::get_if<std::string>(&policy->value.data);
  if (policy_name == nullptr || rule::find_policy(*policy_name) != nullptr) return std::nullopt;
  return *policy_name;
}

std::optional<std::string> why_not_loaded(const FoundScaler& scaler) {
  return is_own(scaler) ? why_not_started(scaler) : std::nullopt;
}

std::optional<std::string> why_not_started(const FoundScaler& scaler) {
  try {
    require_level(start_from(to_state(scaler)));
  } catch (const Error& error) {
    if (error.status == Status::mismatch) return error.what();  // others: a policy that is not known here
  }
  return std::nullopt;
}

ScalerState to_state(const FoundScaler& scaler) {
  if (is_own(scaler)) return own_state(scaler);
  const PolicyUse& use = policy_of(scaler);
  const rule::PolicySpec& spec = require_policy(use.policy, use.variant);
  ScalerState state;
  state.policy = spec.name;
  if (!spec.variant_key.empty()) state.params.set(spec.variant_key, std::string(spec.variant));
  std::vector<const Field*> left;
  for (const Field& field : scaler.fields) {
    const StateValue value = state_value(field.value);
    const bool is_null = std::holds_alternative<std::monostate>(value);
    if (is_null || twin_of(scaler, field) != nullptr || !put_by_name(state, spec, field.name, value))
      left.push_back(&field);
  }
  for (const Field* field : left) {
    const StateValue value = state_value(field->value);
    const bool has_role = field->role.has_value() && !std::holds_alternative<std::monostate>(value);
    const Field* twin = twin_of(scaler, *field);
    const bool is_number = field->value.number() != nullptr;
    if (twin != nullptr && is_number && twin->value.as_double() == field->value.as_double()) continue;
    if (has_role && twin == nullptr && put_by_role(state, spec, name(*field->role), value)) continue;
    state.other.set(field->name, value);
  }
  for (const ConfiguredValue& configured : scaler.configuration) put_configured(state, spec, configured);
  normalise(state);
  return state;
}

std::optional<WindowLevel> window_level(const FoundScaler& scaler) {
  if (scaler.find(Role::window_index) == nullptr) return std::nullopt;
  try {
    return window_level(to_state(scaler));
  } catch (const Error& error) {
    if (error.status != Status::mismatch) throw;
    return std::nullopt;  // a value that no window can be
  }
}

}  // namespace tare
