#include "lib/tree/value.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tare {
namespace {

bool same_float(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

const Value* Value::number() const {
  if (const auto* list = std::get_if<ValueList>(&data)) return list->size() == 1 ? list->front().number() : nullptr;
  const bool is_number = std::holds_alternative<bool>(data) || std::holds_alternative<Integer>(data) ||
                         std::holds_alternative<double>(data);
  return is_number ? this : nullptr;
}

double Value::as_double() const {
  const Value& one = *number();
  if (const auto* flag = std::get_if<bool>(&one.data)) return *flag ? 1.0 : 0.0;
  if (const auto* integer = std::get_if<Integer>(&one.data)) return integer->as_double();
  return std::get<double>(one.data);
}

bool same(const Value& a, const Value& b) {
  if (a.type != b.type || a.data.index() != b.data.index()) return false;
  if (const auto* x = std::get_if<double>(&a.data)) return same_float(*x, std::get<double>(b.data));
  const auto* list = std::get_if<ValueList>(&a.data);
  if (list == nullptr) {
    if (const auto* flag = std::get_if<bool>(&a.data)) return *flag == std::get<bool>(b.data);
    if (const auto* integer = std::get_if<Integer>(&a.data)) return *integer == std::get<Integer>(b.data);
    if (const auto* text = std::get_if<std::string>(&a.data)) return *text == std::get<std::string>(b.data);
    return true;
  }
  const auto& other = std::get<ValueList>(b.data);
  if (list->size() != other.size()) return false;
  for (std::size_t i = 0; i < list->size(); ++i) {
    if (!same((*list)[i], other[i])) return false;
  }
  return true;
}

}  // namespace tare
