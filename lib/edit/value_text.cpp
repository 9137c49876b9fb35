#include "lib/edit/value_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text.hpp"

namespace tare {
namespace {

std::string elements_text(const PackedArray& array) {
  constexpr std::uint64_t shown = 6;
  std::string text;
  for (std::uint64_t i = 0; i < std::min(array.count(), shown); ++i) {
    text += text.empty() ? "" : ", ";
    text += array.has_numbers() ? float_text(array.number_at(i)) : array.at(i).type;
  }
  const std::string rows = array.shape().size() == 2 ? fmt::format("{}x{} ", array.shape()[0], array.shape()[1]) : "";
  return fmt::format("{}[{}{}]", rows, text, array.count() > shown ? ", ..." : "");
}

}  // namespace

std::string value_text(const Value& value) {
  if (const auto* array = std::get_if<PackedArray>(&value.data)) return elements_text(*array);
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  const Value* number = value.number();
  if (number == nullptr) return value.type;
  if (const auto* flag = std::get_if<bool>(&number->data)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<Integer>(&number->data)) return integer->text();
  return float_text(std::get<double>(number->data));
}

}  // namespace tare
