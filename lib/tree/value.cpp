#include "lib/tree/value.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

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

ElementType element_type_of(const Value& value) {
  if (const auto* array = std::get_if<PackedArray>(&value.data)) return array->type;
  const std::string_view type = value.type;
  const std::size_t colon = type.find(':');
  if (colon == type.npos) return {};
  return element_type(type.substr(colon + 1, type.find('[', colon) - colon - 1));
}

Value PackedArray::at(std::uint64_t index) const {
  return element_value(type, bytes().data() + index * type.size);
}

bool PackedArray::has_numbers() const {
  return count() > 0 && at(0).number() != nullptr;
}

double PackedArray::number_at(std::uint64_t index) const {
  if (type.name == "float32") return load_le<float>(bytes().data() + index * type.size);
  return at(index).as_double();
}

namespace {

bool same_data(std::monostate, std::monostate) {
  return true;
}

bool same_data(double a, double b) {
  return same_float(a, b);
}

bool same_data(const ValueList& a, const ValueList& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// Equal bytes are equal values; of other bytes only those of NaNs may be. Of an element that is no number (complex)
/// nothing but its bytes is known.
bool same_data(const PackedArray& a, const PackedArray& b) {
  if (a.shape() != b.shape() || a.count() != b.count()) return false;
  if (a.bytes() == b.bytes()) return true;
  for (std::uint64_t i = 0; i < a.count(); ++i) {
    const Value element = a.at(i);
    if (element.number() == nullptr || !same(element, b.at(i))) return false;
  }
  return true;
}

template <typename Plain>
bool same_data(const Plain& a, const Plain& b) {
  return a == b;
}

}  // namespace

bool same(const Value& a, const Value& b) {
  if (a.type != b.type || a.data.index() != b.data.index()) return false;
  return std::visit([&](const auto& data) { return same_data(data, std::get<std::decay_t<decltype(data)>>(b.data)); },
                    a.data);
}

}  // namespace tare
