// What can be asked of a scaler that was found.
#include <algorithm>

#include "lib/dialect/found.hpp"

namespace tare {

const Field* FoundScaler::find(Role role) const {
  const auto has_it = [&](const Field& field) { return field.role == role && field.value.number() != nullptr; };
  const auto field = std::find_if(fields.begin(), fields.end(), has_it);
  return field == fields.end() ? nullptr : &*field;
}

const Field* FoundScaler::find(std::string_view name) const {
  const auto has_it = [&](const Field& field) { return field.name == name; };
  const auto field = std::find_if(fields.begin(), fields.end(), has_it);
  return field == fields.end() ? nullptr : &*field;
}

const Value* FoundScaler::known(Role role) const {
  if (const Field* field = find(role)) return &field->value;
  const auto is_it = [&](const ConfiguredValue& configured) { return configured.key == tare::name(role); };
  const auto configured = std::find_if(configuration.begin(), configuration.end(), is_it);
  return configured == configuration.end() ? nullptr : &configured->value;
}

bool same_state(const FoundScaler& a, const FoundScaler& b) {
  const auto is_same = [](const Field& x, const Field& y) { return x.name == y.name && same(x.value, y.value); };
  return a.dialect->name == b.dialect->name && a.path == b.path && a.fields.size() == b.fields.size() &&
         std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), is_same);
}

}  // namespace tare
