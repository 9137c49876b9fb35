#include <algorithm>
#include <cmath>
#include <cstdint>

#include "lib/base/text.hpp"
#include "tools/render.hpp"

using tare::Value;

std::string value_text(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<tare::Integer>(&value.data)) return integer->text();
  if (const auto* number = std::get_if<double>(&value.data)) return tare::float_text(*number);
  if (const auto* text = std::get_if<std::string>(&value.data)) return tare::escaped(*text);
  const auto* list = std::get_if<tare::ValueList>(&value.data);
  if (list != nullptr) return value_text(list->front());
  const auto* array = std::get_if<tare::PackedArray>(&value.data);
  if (array == nullptr) return tare::escaped(value.type);
  constexpr std::uint64_t shown = 8;
  std::string text;
  for (std::uint64_t i = 0; i < std::min(array->count(), shown); ++i) {
    text += (text.empty() ? "" : ", ") + value_text(array->at(i));
  }
  return "[" + text + (array->count() > shown ? ", ...]" : "]");
}

std::string power_text(const Value& value) {
  const Value* number = value.number();
  if (number == nullptr || std::holds_alternative<bool>(number->data)) return {};
  int exponent = 0;
  const double fraction = std::frexp(number->as_double(), &exponent);
  return fraction == 0.5 && std::abs(exponent - 1) > 1 ? "2^" + std::to_string(exponent - 1) : "";
}
