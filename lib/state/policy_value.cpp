#include "lib/state/policy_value.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/state/role.hpp"

namespace tare {
namespace {

using rule::Assigned;
using rule::Number;
using rule::NumberKind;
using rule::ValueType;

[[noreturn]] void refuse(std::string_view what, std::string_view problem) {
  throw Error(Status::mismatch, std::string(what) + " " + std::string(problem));
}

/// The one element of an array, as frameworks keep a number in a tensor of shape [1]; or the value itself.
StateValue unwrapped(const StateValue& value) {
  const auto* array = std::get_if<StateArray>(&value);
  if (array == nullptr || array->size() != 1) return value;
  return std::visit([](const auto& list) { return StateValue(list.front()); }, array->values);
}

/// Text that stands for a number, or the value itself.
StateValue with_numbers_read(const StateValue& given) {
  StateValue value = unwrapped(given);
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return value;
  const auto number = parse_number(*text);
  return number ? StateValue(*number) : value;
}

StateValue number_in(ValueType type, const StateValue& given, std::string_view what) {
  const StateValue value = with_numbers_read(given);
  switch (type) {
    case ValueType::real32:
    case ValueType::real64:
      return number_of(value, what);
    case ValueType::integer32:
    case ValueType::integer64:
      return integer_of(value, what);
    case ValueType::boolean:
      if (const auto* flag = std::get_if<bool>(&value)) return *flag;
      return integer_of(value, what) != 0;
    default:
      break;
  }
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  return number_of(value, what);
}

StateValue integers_of(const StateValue& value, std::string_view what) {
  const auto* array = std::get_if<StateArray>(&value);
  if (array == nullptr) refuse(what, "is " + std::string(words_for(kind_of(value))) + ", a list of integers is meant");
  std::vector<std::int64_t> integers;
  integers.reserve(array->size());
  std::visit(
      [&](const auto& list) {
        for (const auto& item : list) integers.push_back(integer_of(StateValue(item), what));
      },
      array->values);
  const std::size_t count = integers.size();
  return StateArray{{count}, std::move(integers)};
}

StateValue word_in(const rule::ParameterSpec& spec, const StateValue& value, std::string_view what) {
  const auto* text = std::get_if<std::string>(&value);
  const bool known = text != nullptr && std::ranges::any_of(spec.words, [&](const auto& w) { return w.text == *text; });
  if (!known) refuse(what, "is not one of its words: " + rule::range_text(spec));
  return value;
}

Number as_number(const StateValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return rule::boolean_number(*flag);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return rule::integer_number(*integer);
  if (const auto* real = std::get_if<double>(&value)) return rule::real_number(*real);
  return {};
}

StateValue from_number(const Number& number) {
  switch (number.kind) {
    case NumberKind::none:
      break;
    case NumberKind::boolean:
      return number.integer != 0;
    case NumberKind::integer:
      return number.integer;
    case NumberKind::real:
      return number.real;
  }
  return std::monostate();
}

void check(Assigned assigned, std::string_view what) {
  if (assigned == Assigned::wrong_kind) refuse(what, "is of the wrong kind");
  if (assigned == Assigned::out_of_range) refuse(what, "is beyond what the policy's type holds");
}

std::string_view without_alias(std::string_view key) {
  const auto role = parse_role(key);
  return role ? name(*role) : key;
}

}  // namespace

const rule::PolicySpec* policy_of(const ScalerState& state) {
  const rule::PolicySpec* usual = rule::find_policy(state.policy);
  const std::string_view key = rule::variant_key_of(state.policy);
  if (usual == nullptr || key.empty()) return usual;
  const StateValue* given = state.params.find(key);
  if (given == nullptr) return usual;
  const auto* variant = std::get_if<std::string>(given);
  const rule::PolicySpec* spec = variant == nullptr ? nullptr : rule::find_policy(state.policy, *variant);
  if (spec == nullptr || variant->empty()) {
    refuse("policy \"" + state.policy + "\": params." + std::string(key), "names no variant of it");
  }
  return spec;
}

const rule::PolicySpec& require_policy(std::string_view name, std::string_view variant) {
  if (const rule::PolicySpec* spec = rule::find_policy(name, variant)) return *spec;
  const bool known = rule::find_policy(name) != nullptr;
  std::string allowed;
  for (const rule::PolicySpec& spec : rule::policies()) {
    const std::string_view word = known ? spec.variant : spec.name;
    if ((known && spec.name != name) || word.empty() || allowed.ends_with(word)) continue;
    allowed += (allowed.empty() ? "" : ", ") + std::string(word);
  }
  if (!known) {
    throw Error(Status::invalid_argument, "there is no policy \"" + std::string(name) + "\"", "Policies: " + allowed);
  }
  throw Error(Status::invalid_argument,
              "policy \"" + std::string(name) + "\" has no variant \"" + std::string(variant) + "\"",
              allowed.empty() ? "It has one form only." : "Its variants: " + allowed);
}

std::string full_name(const rule::PolicySpec& spec) {
  std::string name(spec.name);
  if (!spec.variant.empty()) name.append(" ").append(spec.variant);
  return name;
}

const rule::ParameterSpec* parameter_for(const rule::PolicySpec& spec, std::string_view key) {
  const auto* found = rule::find_parameter(spec, key);
  return found != nullptr ? found : rule::find_parameter(spec, without_alias(key));
}

const rule::FieldSpec* field_for(const rule::PolicySpec& spec, std::string_view key) {
  const auto* found = rule::find_field(spec, key);
  return found != nullptr ? found : rule::find_field(spec, without_alias(key));
}

StateValue converted(const rule::ParameterSpec& spec, const StateValue& value, std::string_view what) {
  if (!spec.unset.empty()) {
    const auto* text = std::get_if<std::string>(&value);
    const bool unset = std::holds_alternative<std::monostate>(value) || (text != nullptr && *text == spec.unset);
    if (unset && spec.unset == "null") return std::monostate();
    if (unset) return std::string(spec.unset);
  }
  if (spec.type == ValueType::integers) return integers_of(value, what);
  if (spec.type == ValueType::word) return word_in(spec, value, what);
  return number_in(spec.type, value, what);
}

StateValue converted(const rule::FieldSpec& spec, const StateValue& value, std::string_view what) {
  return number_in(spec.type, value, what);
}

void assign(rule::RuleParams& into, const rule::ParameterSpec& spec, const StateValue& value, std::string_view what) {
  const StateValue fitting = converted(spec, value, what);
  if (const auto* array = std::get_if<StateArray>(&fitting)) {
    return check(rule::write_list(into, spec, std::get<std::vector<std::int64_t>>(array->values)), what);
  }
  Number number = as_number(fitting);
  if (spec.type == ValueType::word) {
    const auto& text = std::get<std::string>(fitting);
    number = rule::integer_number(std::ranges::find(spec.words, text, &rule::Word::text)->value);
  }
  check(rule::write_parameter(into, spec, number), what);
}

void assign(rule::RuleState& into, const rule::FieldSpec& spec, const StateValue& value, std::string_view what) {
  check(spec.write(into, as_number(converted(spec, value, what))), what);
}

StateValue value_of(const rule::RuleParams& params, const rule::ParameterSpec& spec) {
  if (spec.list != nullptr) {
    rule::RuleParams copy = params;
    const rule::WindowList& list = spec.list(copy);
    const auto count = static_cast<std::size_t>(list.count);
    return StateArray{{count}, std::vector<std::int64_t>(list.values, list.values + list.count)};
  }
  const Number number = rule::read_parameter(params, spec);
  if (spec.type == ValueType::word) {
    const auto word = std::ranges::find(spec.words, static_cast<std::int32_t>(number.integer), &rule::Word::value);
    return std::string(word == spec.words.end() ? std::string_view() : word->text);
  }
  if (number.kind == NumberKind::none && spec.unset != "null") return std::string(spec.unset);
  return from_number(number);
}

StateValue value_of(const rule::RuleState& state, const rule::FieldSpec& spec) {
  return from_number(spec.read(state));
}

std::string parameter_names(const rule::PolicySpec& spec) {
  std::string names;
  for (const rule::ParameterSpec& parameter : spec.parameters) {
    names += std::string(parameter.name) + ", ";
    const bool has_word = !parameter.role.empty() && parameter.role != parameter.name;
    if (has_word) names.insert(names.size() - 2, " (" + std::string(parameter.role) + ")");
  }
  const std::string_view variant = rule::variant_key_of(spec.name);
  if (!variant.empty()) names += std::string(variant) + ", ";
  return names + std::string(floor_key) + ", " + std::string(ceiling_key);
}

}  // namespace tare
