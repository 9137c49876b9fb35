#include "lib/migrate/keeper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/source.hpp"
#include "lib/base/text.hpp"
#include "lib/container/container.hpp"
#include "lib/container/new_container.hpp"
#include "lib/dialect/flags.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

/// What a field of the checkpoint is to hold; null where the policy has nothing for it.
const StateValue* value_for(const ScalerState& state, const Field& field) {
  if (const StateValue* value = find(state, field.name)) return value;
  return field.role ? find(state, name(*field.role)) : nullptr;
}

std::vector<Assignment> assignments(const ScalerState& state, const FoundScaler& scaler) {
  std::vector<Assignment> all;
  for (const Field& field : scaler.fields) {
    if (!field.editable) continue;
    const StateValue* value = value_for(state, field);
    if (value != nullptr && number_text(*value)) all.push_back({"native:" + field.name, *value});
  }
  return all;
}

ToldValue told(const rule::ParameterSpec& parameter) {
  return {parse_role(parameter.role), parameter.name};
}

}  // namespace

bool DialectKeeper::is_told(const rule::ParameterSpec& parameter) const {
  return tare::is_told(dialect_, told(parameter));
}

std::string DialectKeeper::why_not(std::string_view native, std::optional<Role> role) const {
  for (const Reset& reset : dialect_.resets) {
    const rule::FieldSpec* field = rule::find_field(policy_, reset.name);
    if (field != nullptr && (field->name == native || (role && field->role == name(*role)))) {
      return std::string(reset.sentence);
    }
  }
  return role ? how_it_is_set(dialect_, *role) : fmt::format("{} does not save it.", dialect_.framework);
}

ScalerState DialectKeeper::loaded(const FoundScaler& scaler) const {
  ScalerState state = to_state(scaler);
  state.policy = policy_.name;  // a file may say less: DeepSpeed's unfused optimizer is told by its weights
  if (!policy_.variant_key.empty()) state.params.set(policy_.variant_key, std::string(policy_.variant));
  for (const Reset& reset : dialect_.resets) {
    const rule::FieldSpec* field = rule::find_field(policy_, reset.name);
    if (field != nullptr) state.fields.set(field->name, reset.value);
  }
  return state;
}

bool DialectKeeper::is_field(std::string_view name) const {
  return std::any_of(policy_.fields.begin(), policy_.fields.end(),
                     [&](const rule::FieldSpec& field) { return field.name == name || field.stored == name; });
}

TemplateKeeper::TemplateKeeper(const StateTemplate& form)
    : DialectKeeper(*form.dialect, require_policy(form.policy, form.variant)), template_(form) {}

bool TemplateKeeper::holds(const rule::ParameterSpec& parameter) const {
  return !is_field(parameter.name) && tare::holds(template_, parameter.name);
}

ScalerState TemplateKeeper::saved(const ScalerState& state) {
  const std::string name(template_.name);
  const auto file = open_container(
      std::make_shared<const MemorySource>(name, new_container(template_.format, filled(template_, state), "scaler")));
  std::vector<Finding> findings;
  const FoundScalers scalers = find_scalers(file->tree(), {name}, findings);
  if (scalers.size() != 1) throw Error(Status::internal, name + ": the scaler that was written is not found again");
  return loaded(scalers.front());
}

CheckpointKeeper::CheckpointKeeper(const Checkpoint& checkpoint, const FoundScaler& scaler,
                                   const rule::PolicySpec& policy, const IntoRequest& request)
    : DialectKeeper(*scaler.dialect, policy),
      checkpoint_(checkpoint),
      scaler_(scaler),
      after_(scaler),
      request_(request) {
  after_.configuration.clear();
}

bool CheckpointKeeper::holds(const rule::ParameterSpec& parameter) const {
  if (is_field(parameter.name)) return false;
  if (scaler_.find(parameter.name) != nullptr) return true;
  const auto role = parse_role(parameter.role);
  return role && scaler_.find(*role) != nullptr;
}

std::string CheckpointKeeper::why_not(std::string_view native, std::optional<Role> role) const {
  const bool has_own_reason = !role || role == Role::dynamic || tare::is_told(dialect_, {role, native});
  if (!has_own_reason && is_static(after_)) {
    return "The scale there is static: it does not move, and has no use for this.";
  }
  return DialectKeeper::why_not(native, role);
}

ScalerState CheckpointKeeper::saved(const ScalerState& state) {
  EditRequest edit;
  edit.action = Assign{assignments(state, scaler_), request_.align};
  edit.at = request_.at;
  edit.force = request_.force;
  plan_ = plan_edit(checkpoint_, edit);
  for (const PlannedField& planned : plan_.fields) {
    if (planned.path != after_.path || planned.dialect != after_.dialect->name) continue;
    for (Field& field : after_.fields) {
      if (field.name == planned.field) field.value = planned.after;
    }
  }
  return loaded(after_);
}

void tell_of_configuration(Migration& migration, const Dialect& dialect, const Keeper& keeper,
                           const StateSection& told_before) {
  const ScalerState& state = migration.conversion.resumed;
  const rule::PolicySpec& spec = *policy_of(state);
  const rule::RuleParams defaults = rule::make_policy(spec).params;
  std::vector<ToldValue> values;
  for (const rule::ParameterSpec& parameter : spec.parameters) {
    const auto role = parse_role(parameter.role);
    if (role == Role::initial_scale || keeper.holds(parameter) || !keeper.is_told(parameter)) continue;
    const StateValue* value = state.params.find(parameter.name);
    const StateValue* before = told_before.find(parameter.name);
    if (value == nullptr || *value == (before != nullptr ? *before : value_of(defaults, parameter))) continue;
    migration.configured.push_back({role, std::string(parameter.name), *value, keeper.why_not(parameter.name, role)});
    values.push_back({role, parameter.name, *value});
  }
  migration.flags = flags_for(dialect, values);
}

}  // namespace tare
