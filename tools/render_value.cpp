#include <cmath>

#include "lib/base/text.hpp"
#include "tools/render.hpp"

using tare::Value;

std::string value_text(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<tare::Integer>(&value.data)) return integer->text();
  if (const auto* number = std::get_if<double>(&value.data)) return tare::float_text(*number);
  if (const auto* text = std::get_if<std::string>(&value.data)) return tare::escaped(*text);
  const auto* list = std::get_if<tare::ValueList>(&value.data);
  if (list == nullptr) return tare::escaped(value.type);
  if (list->size() == 1) return value_text(list->front());
  std::string text;
  for (const Value& item : *list) text += (text.empty() ? "" : ", ") + value_text(item);
  return "[" + text + "]";
}

std::string power_text(const Value& value) {
  const Value* number = value.number();
  if (number == nullptr || std::holds_alternative<bool>(number->data)) return {};
  int exponent = 0;
  const double fraction = std::frexp(number->as_double(), &exponent);
  return fraction == 0.5 && std::abs(exponent - 1) > 1 ? "2^" + std::to_string(exponent - 1) : "";
}
