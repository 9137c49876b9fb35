#include "lib/state/scaler_state.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/state/policy_value.hpp"
#include "lib/state/role.hpp"
#include "lib/state/window_level.hpp"

namespace tare {
namespace {

struct NamedSection {
  std::string_view name;
  StateSection ScalerState::*section;
};

constexpr std::array sections{
    NamedSection{"fields", &ScalerState::fields}, NamedSection{"params", &ScalerState::params},
    NamedSection{"statistics", &ScalerState::statistics}, NamedSection{"other", &ScalerState::other}};

/// nan is nan here, and 1 and 1.0 say the same.
bool same_value(const StateValue& a, const StateValue& b) {
  if (a == b) return true;
  const auto number = [](const StateValue& value) {
    const ValueKind kind = kind_of(value);
    return kind == ValueKind::number || kind == ValueKind::integer || kind == ValueKind::boolean;
  };
  if (!number(a) || !number(b)) return false;
  const double x = number_of(a, {});
  const double y = number_of(b, {});
  return x == y || (std::isnan(x) && std::isnan(y));
}

void put(StateSection& section, std::string_view name, StateValue value, std::string_view what) {
  const StateValue* there = section.find(name);
  if (there != nullptr && !same_value(*there, value)) {
    throw Error(Status::mismatch, std::string(what) + " is there twice, with different values",
                "Keep one of the spellings.");
  }
  section.set(name, std::move(value));
}

void normalise_params(ScalerState& state, const rule::PolicySpec& spec, StateSection& params) {
  for (const auto& [name, value] : state.params) {
    const std::string what = "params." + name;
    if (name == floor_key || name == ceiling_key) {
      params.set(name, std::holds_alternative<std::monostate>(value) ? value : StateValue(number_of(value, what)));
    } else if (const auto* parameter = rule::find_parameter(spec, name)) {
      put(params, parameter->name, converted(*parameter, value, what), what);
    } else {
      put(params, name, value, what);
    }
  }
}

void normalise_fields(ScalerState& state, const rule::PolicySpec& spec, StateSection& params, StateSection& fields) {
  for (const auto& [name, value] : state.fields) {
    const std::string what = "fields." + name;
    const auto* field = rule::find_field(spec, name);
    if (field != nullptr && std::holds_alternative<std::monostate>(value)) continue;  // None: not there
    if (field != nullptr) {
      put(fields, field->name, converted(*field, value, what), what);
    } else if (const auto* parameter = rule::find_parameter(spec, name)) {
      put(params, parameter->name, converted(*parameter, value, what), what);
    } else {
      put(fields, name, value, what);
    }
  }
}

/// A key with its section, found in the state; `section` null where nothing has that name.
struct Place {
  StateSection ScalerState::*section = nullptr;
  std::string name;
};

/// Where a short key leads: what the state holds under the very name, else what its policy calls so.
Place place_of(const ScalerState& state, std::string_view key) {
  for (const NamedSection& section : sections) {
    const bool full =
        key.size() > section.name.size() && key.starts_with(section.name) && key[section.name.size()] == '.';
    if (full) return {section.section, std::string(key.substr(section.name.size() + 1))};
  }
  if (const rule::PolicySpec* spec = policy_of(state)) {
    if (const auto* field = field_for(*spec, key)) return {&ScalerState::fields, std::string(field->name)};
    if (const auto* parameter = parameter_for(*spec, key)) return {&ScalerState::params, std::string(parameter->name)};
    if (key == floor_key || key == ceiling_key) return {&ScalerState::params, std::string(key)};
  }
  for (const NamedSection& section : sections) {
    if ((state.*section.section).find(key) != nullptr) return {section.section, std::string(key)};
  }
  return {};
}

/// Where roles_of() finds a role: in a field that is there, else in a parameter that is. Else where it would be set.
Place place_of_role(const ScalerState& state, std::string_view role) {
  Place place = place_of(state, role);
  if (place.section != &ScalerState::fields || state.fields.find(place.name) != nullptr) return place;
  const rule::PolicySpec* spec = policy_of(state);
  const auto* parameter = spec == nullptr ? nullptr : rule::find_parameter(*spec, role);
  const bool is_there =
      parameter != nullptr && parameter->role == role && state.params.find(parameter->name) != nullptr;
  return is_there ? Place{&ScalerState::params, std::string(parameter->name)} : place;
}

std::string listed(const ScalerState& state) {
  std::string text;
  for (const std::string& key : keys(state)) text += (text.empty() ? "" : ", ") + key;
  return text;
}

[[noreturn]] void throw_unknown(const ScalerState& state, std::string_view key) {
  throw Error(Status::not_found, "the state has no \"" + std::string(key) + "\"", "It has: " + listed(state));
}

bool holds_texts(const StateValue& value) {
  const auto* array = std::get_if<StateArray>(&value);
  return array != nullptr && std::holds_alternative<std::vector<std::string>>(array->values);
}

/// Which tells of no kind of elements.
bool is_empty_array(const StateValue& value) {
  const auto* array = std::get_if<StateArray>(&value);
  return array != nullptr && array->size() == 0;
}

std::string_view words_for_value(const StateValue& value) {
  if (kind_of(value) != ValueKind::array) return words_for(kind_of(value));
  return holds_texts(value) ? "an array of text" : "an array of numbers";
}

/// The value in the type that is there, for a name without a schema.
StateValue like(const StateValue& there, const StateValue& value, std::string_view what) {
  switch (kind_of(there)) {
    case ValueKind::number:
      return number_of(value, what);
    case ValueKind::integer:
      return integer_of(value, what);
    case ValueKind::boolean:
      return std::holds_alternative<bool>(value) ? value : StateValue(integer_of(value, what) != 0);
    case ValueKind::none:
      return value;
    default:
      break;
  }
  const bool are_alike = holds_texts(there) == holds_texts(value) || is_empty_array(there) || is_empty_array(value);
  if (kind_of(there) != kind_of(value) || !are_alike) {
    throw Error(Status::mismatch, std::string(what) + " holds " + std::string(words_for_value(there)) + ", not " +
                                      std::string(words_for_value(value)));
  }
  return value;
}

/// Of numbers 0 and 1 alone are truth values.
void require_truth_value(const StateValue& value, std::string_view what) {
  if (const double number = number_of(value, what); number != 0 && number != 1) {
    throw Error(Status::mismatch, std::string(what) + " holds true or false, not " + float_text(number));
  }
}

StateValue fitting(const ScalerState& state, const Place& place, const StateValue& value) {
  const rule::PolicySpec* spec = policy_of(state);
  if (spec != nullptr && place.section == &ScalerState::fields) {
    if (const auto* field = rule::find_field(*spec, place.name)) return converted(*field, value, place.name);
  }
  if (spec != nullptr && place.section == &ScalerState::params) {
    if (const auto* parameter = rule::find_parameter(*spec, place.name))
      return converted(*parameter, value, place.name);
    if (place.name == floor_key || place.name == ceiling_key) return number_of(value, place.name);
  }
  const StateValue* there = (state.*place.section).find(place.name);
  return there == nullptr ? value : like(*there, value, place.name);
}

/// Whether `policy` itself has that name, so that a value may be added.
bool is_known(const ScalerState& state, const Place& place) {
  if ((state.*place.section).find(place.name) != nullptr) return true;
  const rule::PolicySpec* spec = policy_of(state);
  if (spec == nullptr) return false;
  if (place.section == &ScalerState::fields) return rule::find_field(*spec, place.name) != nullptr;
  if (place.section != &ScalerState::params) return false;
  return rule::find_parameter(*spec, place.name) != nullptr || place.name == floor_key || place.name == ceiling_key;
}

template <class See>
void each_place_of(const ScalerState& state, const StateSection& roles, const See& see) {
  const rule::PolicySpec* spec = policy_of(state);
  for (const auto& [name, value] : roles) {
    const Place place = spec == nullptr || !parse_role(name) ? Place{} : place_of_role(state, name);
    if (place.section != nullptr) see(name, place, fitting(state, place, value));
  }
}

}  // namespace

void normalise(ScalerState& state) {
  const rule::PolicySpec* spec = policy_of(state);
  if (spec == nullptr) return;
  StateSection params;
  StateSection fields;
  normalise_params(state, *spec, params);
  normalise_fields(state, *spec, params, fields);
  state.params = std::move(params);
  state.fields = std::move(fields);
}

StateSection roles_of(const ScalerState& state) {
  StateSection found;
  const rule::PolicySpec* spec = policy_of(state);
  if (spec == nullptr) return found;
  for (const RoleFacts& role : roles()) {
    const auto* field = rule::find_field(*spec, role.name);
    const bool is_field = field != nullptr && field->role == role.name;
    const StateValue* value = is_field ? state.fields.find(field->name) : nullptr;
    if (value == nullptr) {
      const auto* parameter = rule::find_parameter(*spec, role.name);
      const bool is_parameter = parameter != nullptr && parameter->role == role.name;
      value = is_parameter ? state.params.find(parameter->name) : nullptr;
    }
    if (value != nullptr && !std::holds_alternative<std::monostate>(*value)) found.set(role.name, *value);
  }
  return found;
}

void take_roles(ScalerState& state, const StateSection& roles) {
  each_place_of(state, roles, [&](const std::string& role, const Place& place, const StateValue& wanted) {
    const StateValue* there = (state.*place.section).find(place.name);
    if (there != nullptr && !same_value(*there, wanted)) {
      throw Error(Status::mismatch, "roles." + role + " is not what the state's own \"" + place.name + "\" holds",
                  "Roles are a view of fields and params: change those, and leave the roles out.");
    }
    (state.*place.section).set(place.name, wanted);
  });
}

std::string roles_checksum(const StateSection& roles) {
  std::string text;
  for (const auto& [name, value] : roles) {
    const bool is_number = std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value) ||
                           std::holds_alternative<bool>(value);
    const auto* word = std::get_if<std::string>(&value);
    text += fmt::format("{}={};", name, is_number ? fmt::format("{}", number_of(value, name)) : word ? *word : "");
  }
  return fmt::format("{:08x}", crc32(as_bytes(text)));
}

void take_missing_roles(ScalerState& state, const StateSection& roles) {
  each_place_of(state, roles, [&](const std::string&, const Place& place, const StateValue& wanted) {
    if ((state.*place.section).find(place.name) == nullptr) (state.*place.section).set(place.name, wanted);
  });
}

const StateValue* find(const ScalerState& state, std::string_view key) {
  const Place place = place_of(state, key);
  return place.section == nullptr ? nullptr : (state.*place.section).find(place.name);
}

const StateValue& get(const ScalerState& state, std::string_view key) {
  if (const StateValue* value = find(state, key)) return *value;
  throw_unknown(state, key);
}

void set(ScalerState& state, std::string_view key, const StateValue& value) {
  const Place place = place_of(state, key);
  if (place.section == nullptr || !is_known(state, place)) throw_unknown(state, key);
  StateValue kept = fitting(state, place, value);
  if (std::holds_alternative<bool>(kept)) require_truth_value(value, place.name);
  if (!has_levels(state)) return (state.*place.section).set(place.name, std::move(kept));
  ScalerState changed = state;
  (changed.*place.section).set(place.name, std::move(kept));
  if (place.section == &ScalerState::fields) field_follows(changed, place.name);
  if (place.section == &ScalerState::params) parameter_follows(changed, place.name);
  state = std::move(changed);
}

std::vector<std::string> keys(const ScalerState& state) {
  std::vector<std::string> all{"policy"};
  for (const NamedSection& section : sections) {
    for (const auto& entry : state.*section.section) all.push_back(std::string(section.name) + "." + entry.name);
  }
  return all;
}

double number_of(const StateValue& value, std::string_view what) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1.0 : 0.0;
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (const auto number = parse_number(*text)) return *number;
  }
  throw Error(Status::mismatch,
              std::string(what) + " is " + std::string(words_for(kind_of(value))) + ", a number is meant");
}

std::int64_t integer_of(const StateValue& value, std::string_view what) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const double number = number_of(value, what);
  constexpr double two_to_63 = 9223372036854775808.0;
  const bool is_whole = std::isfinite(number) && number == std::floor(number);
  if (!is_whole || number < -two_to_63 || number >= two_to_63) {
    throw Error(Status::mismatch, std::string(what) + " is " + float_text(number) + ", a whole number " +
                                      (is_whole ? "from -2^63 to 2^63 - 1 " : "") + "is meant");
  }
  return static_cast<std::int64_t>(number);
}

}  // namespace tare
