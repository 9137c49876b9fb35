#include "lib/dialect/state_value.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace tare {
namespace {

StateValue number_value(const Value& one) {
  if (const auto* flag = std::get_if<bool>(&one.data)) return *flag;
  if (const auto* integer = std::get_if<Integer>(&one.data)) {
    return integer->is_big() ? StateValue(integer->as_double()) : StateValue(integer->value);
  }
  return one.as_double();
}

/// Integers where all of them are, else floats.
StateValue array_of(const std::vector<Value>& items) {
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  for (const Value& item : items) {
    if (item.number() == nullptr) return {};
    const StateValue number = number_value(item);
    if (const auto* integer = std::get_if<std::int64_t>(&number)) integers.push_back(*integer);
    numbers.push_back(item.as_double());
  }
  const std::uint64_t count = items.size();
  if (integers.size() == count) return StateArray{{count}, std::move(integers)};
  return StateArray{{count}, std::move(numbers)};
}

}  // namespace

StateValue state_value(const Value& value) {
  if (value.type == "list") {
    const auto* items = std::get_if<ValueList>(&value.data);
    return items == nullptr ? StateValue() : array_of(*items);
  }
  if (const Value* one = value.number()) return number_value(*one);
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  const auto* packed = std::get_if<PackedArray>(&value.data);
  if (packed == nullptr || packed->shape().size() != 1) return {};
  std::vector<Value> items;
  for (std::uint64_t i = 0; i < packed->count(); ++i) items.push_back(packed->at(i));
  return array_of(items);
}

}  // namespace tare
