#include "lib/state/value.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"

namespace tare {

std::size_t StateArray::size() const {
  return std::visit([](const auto& list) { return list.size(); }, values);
}

ValueKind kind_of(const StateValue& value) {
  static constexpr ValueKind kinds[] = {ValueKind::none, ValueKind::boolean, ValueKind::integer, ValueKind::number,
                                        ValueKind::text, ValueKind::array,   ValueKind::json};
  static_assert(std::size(kinds) == std::variant_size_v<StateValue>);
  return kinds[value.index()];
}

std::string_view words_for(ValueKind kind) {
  static constexpr std::string_view words[] = {"nothing", "a number", "an integer",  "true or false",
                                               "text",    "an array", "a JSON value"};
  return words[static_cast<std::size_t>(kind)];
}

std::optional<std::string> number_text(const StateValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return float_text(*real);
  return std::nullopt;
}

const StateValue* StateSection::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : &found->value;
}

StateValue* StateSection::find(std::string_view name) {
  return const_cast<StateValue*>(std::as_const(*this).find(name));
}

void StateSection::set(std::string_view name, StateValue value) {
  if (StateValue* there = find(name)) {
    *there = std::move(value);
  } else {
    entries_.push_back({std::string(name), std::move(value)});
  }
}

bool StateSection::erase(std::string_view name) {
  return std::erase_if(entries_, [&](const Entry& entry) { return entry.name == name; }) > 0;
}

}  // namespace tare
