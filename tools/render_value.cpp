#include <algorithm>
#include <cmath>
#include <cstdint>

#include "lib/base/exact_integer.hpp"
#include "lib/base/text.hpp"
#include "tools/render.hpp"

using tare::Value;

namespace {

/// The first of `count` items, in brackets.
template <class At>
std::string items_text(std::uint64_t count, const At& at) {
  constexpr std::uint64_t shown = 8;
  std::string text;
  for (std::uint64_t i = 0; i < std::min(count, shown); ++i) text += (text.empty() ? "" : ", ") + value_text(at(i));
  return "[" + text + (count > shown ? ", ...]" : "]");
}

}  // namespace

std::string value_text(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<tare::Integer>(&value.data)) return integer->text();
  if (const auto* number = std::get_if<double>(&value.data)) return tare::float_text(*number);
  if (const auto* text = std::get_if<std::string>(&value.data)) return tare::escaped(*text);
  if (const auto* list = std::get_if<tare::ValueList>(&value.data)) {
    const bool is_tensor = value.type != "list" && list->size() == 1;
    return is_tensor ? value_text(list->front()) : items_text(list->size(), [&](auto i) { return (*list)[i]; });
  }
  const auto* array = std::get_if<tare::PackedArray>(&value.data);
  if (array == nullptr) return tare::escaped(value.type);
  return items_text(array->count(), [&](std::uint64_t i) { return array->at(i); });
}

std::string power_text(const Value& value) {
  const Value* number = value.number();
  if (number == nullptr || std::holds_alternative<bool>(number->data)) return {};
  int exponent = 0;
  const double fraction = std::frexp(number->as_double(), &exponent);
  const std::string power = "2^" + std::to_string(exponent - 1);
  const auto* integer = std::get_if<tare::Integer>(&number->data);
  const bool is_rounded = integer != nullptr && tare::exact_decimal(power) != integer->text();
  return fraction == 0.5 && std::abs(exponent - 1) > 1 && !is_rounded ? power : "";
}
