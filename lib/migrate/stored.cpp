#include "lib/migrate/stored.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "lib/dialect/flags.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

std::string reason(const Dialect& dialect, std::optional<Role> role) {
  return role ? how_it_is_set(dialect, *role) : fmt::format("{} does not save it.", dialect.framework);
}

void lose_counters(Conversion& conversion, const Dialect& dialect, const IsStored& is_stored) {
  constexpr std::string_view fields = "fields.";
  for (ConvertedValue& value : conversion.values) {
    if (!value.key.starts_with(fields) || value.fate == Fate::lost || value.fate == Fate::defaulted) continue;
    if (is_stored(std::string_view(value.key).substr(fields.size()), value.role)) continue;
    const bool was_stored = !value.source_key.empty();
    if (!was_stored) continue;
    value = {Fate::lost, value.source_key, value.source_key, value.role, value.before, {}, reason(dialect, value.role)};
  }
}

}  // namespace

void tell_of_unstored(Migration& migration, const Dialect& dialect, const IsStored& is_stored) {
  const ScalerState& state = migration.conversion.state;
  const rule::PolicySpec& spec = *policy_of(state);
  const rule::RuleParams defaults = rule::make_policy(spec).params;
  for (const rule::ParameterSpec& parameter : spec.parameters) {
    const auto role = parse_role(parameter.role);
    if (!role || *role == Role::initial_scale || is_stored(parameter.name, role)) continue;
    const StateValue* value = state.params.find(parameter.name);
    if (value == nullptr || *value == value_of(defaults, parameter)) continue;
    migration.configured.push_back({*role, *value, how_it_is_set(dialect, *role)});
  }
  std::vector<std::pair<Role, StateValue>> values;
  for (const Configured& one : migration.configured) values.emplace_back(one.role, one.value);
  migration.flags = flags_for(dialect, values);
  lose_counters(migration.conversion, dialect, is_stored);
}

}  // namespace tare
