#include "lib/edit/new_value.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/exact_integer.hpp"
#include "lib/base/text.hpp"

namespace tare {
namespace {

bool is_whole(double value) {
  return std::isfinite(value) && value == std::floor(value);
}

/// Why `value` is of no use as `role`; empty where it is fine.
std::string objection(Role role, double value) {
  switch (facts(role).quantity) {
    case Quantity::scale:
      if (!std::isfinite(value)) return "is not finite";
      if (value <= 0) return "is not positive: gradients would vanish or turn round";
      if (value > std::numeric_limits<float>::max()) return "is above float32's largest, 3.4e38";
      if (static_cast<float>(value) == 0.0F) return "is 0 in float32";
      return {};
    case Quantity::factor:
      if (!std::isfinite(value) || value <= 0) return "is no positive number";
      if (role == Role::growth_factor && value <= 1) return "would never let the scale grow";
      if (role == Role::backoff_factor && value >= 1) return "would never let the scale back off";
      return {};
    case Quantity::interval:
      return is_whole(value) && value >= 1 ? "" : "is no whole number of 1 or more";
    case Quantity::count:
      return is_whole(value) ? "" : "is no whole number";
    case Quantity::flag:
      return value == 0 || value == 1 ? "" : "is neither true nor false";
    case Quantity::numbers:
      break;
  }
  return "is a list: not edited as one number";
}

/// Of the number that is given, and of the one that the field's type makes of it, which `place` names.
void require_use(const Field& field, const StateValue& given, double number, std::string_view place = "") {
  const std::string problem = field.role ? objection(*field.role, number) : "";
  if (problem.empty()) return;
  throw Error(Status::refused,
              fmt::format("{}={}: {}{} {}", field.name, given_text(given), float_text(number), place, problem),
              "--force writes it all the same");
}

std::optional<bool> word_of(const StateValue& given) {
  if (const auto* flag = std::get_if<bool>(&given)) return *flag;
  const auto* text = std::get_if<std::string>(&given);
  if (text != nullptr && *text == "true") return true;
  if (text != nullptr && *text == "false") return false;
  return std::nullopt;
}

/// The same value with its only number replaced.
Value with_number(Value value, const Value& number) {
  if (auto* list = std::get_if<ValueList>(&value.data)) {
    list->front() = with_number(std::move(list->front()), number);
  } else {
    value.data = number.data;
  }
  return value;
}

Integer whole(double value) {
  if (value < -0x1p63 || value >= 0x1p63) return {0, fmt::format("{:.0f}", value)};
  return {static_cast<std::int64_t>(value), {}};
}

/// What a double may round; nothing where the number is written in another way than in digits.
std::optional<Integer> exact_integer(const StateValue& given) {
  if (const auto* integer = std::get_if<std::int64_t>(&given)) return Integer{*integer, {}};
  const auto* text = std::get_if<std::string>(&given);
  const auto decimal = text == nullptr ? std::nullopt : exact_decimal(*text);
  if (!decimal) return std::nullopt;
  const auto small = exact_int64(*text);
  return small ? Integer{*small, {}} : Integer{0, *decimal};
}

struct GivenNumber {
  double number;
  bool is_word;  ///< true or false
  std::optional<Integer> integer;
};

bool holds_integers(ElementType type) {
  return type.name.starts_with("int") || type.name.starts_with("uint");
}

/// Beyond what a double tells apart.
NewValue for_large_element(const Field& field, const Integer& integer) {
  const ElementType type = element_type_of(field.value);
  const bool fits = !integer.is_big() && (type.name == "int64" || (type.name == "uint64" && integer.value >= 0));
  if (!fits) {
    throw Error(Status::refused, fmt::format("{}={}: {} cannot hold that", field.name, integer.text(), type.name),
                "the largest number that is written is 9223372036854775807, in 64 bits");
  }
  return {integer, with_number(field.value, {integer, "int"}), {}};
}

NewValue for_element(const Field& field, const GivenNumber& given) {
  constexpr double first_rounded = 0x1p53;
  const ElementType type = element_type_of(field.value);
  if (given.integer && holds_integers(type) && std::fabs(given.number) >= first_rounded) {
    return for_large_element(field, *given.integer);
  }
  const Bytes bytes = element_bytes(type, given.number, std::endian::little);
  return {given.number, with_number(field.value, element_value(type, bytes.data())), {}};
}

NewValue for_python(const Field& field, const GivenNumber& given) {
  const std::string& type = field.value.type;
  const double number = given.number;
  if (given.is_word && type == "bool") return {number != 0, {number != 0, "bool"}, {}};
  if (type == "float") return {number, {number, "float"}, {}};
  if (given.integer || is_whole(number)) {
    const Integer integer = given.integer ? *given.integer : whole(number);
    const std::string note = type == "int" ? "" : fmt::format("{} becomes int", type);
    return {integer, {integer, "int"}, note};
  }
  return {number, {number, "float"}, fmt::format("{} becomes float: an int cannot be {}", type, float_text(number))};
}

}  // namespace

std::string given_text(const StateValue& given) {
  const auto* text = std::get_if<std::string>(&given);
  return text != nullptr ? *text : number_text(given).value_or(std::string(words_for(kind_of(given))));
}

double given_number(const StateValue& given, const std::string& what) {
  if (const auto word = word_of(given)) return *word ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&given)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&given)) return *real;
  const auto* text = std::get_if<std::string>(&given);
  if (const auto number = text == nullptr ? std::nullopt : parse_number(*text)) return *number;
  throw Error(Status::invalid_argument, fmt::format("{}'{}' is no value", what, given_text(given)),
              "write a number (65536, 2^16, 0x1p16, 0.5), or true or false");
}

NewValue new_value(const Field& field, const StateValue& given, bool force) {
  if (field.value.number() == nullptr || !field.editable) {
    throw Error(Status::refused,
                fmt::format("{} holds no number that can be changed (its type is {})", field.name, field.value.type));
  }
  const GivenNumber read{given_number(given, field.name + ": "), word_of(given).has_value(), exact_integer(given)};
  const bool is_flag = field.value.type == "bool" || element_type_of(field.value).name == "bool";
  const bool wants_flag = field.role ? facts(*field.role).quantity == Quantity::flag : is_flag;
  if (read.is_word != wants_flag && !force) {
    throw Error(Status::refused, fmt::format("{}={}: {} is wanted", field.name, given_text(given),
                                             wants_flag ? "true or false" : "a number"));
  }
  if (!force) require_use(field, given, read.number);
  const ElementType type = element_type_of(field.value);
  if (type.size == 0) return for_python(field, read);
  NewValue value = for_element(field, read);
  if (!force) require_use(field, given, value.after.as_double(), fmt::format(" in {}", type.name));
  return value;
}

}  // namespace tare
