#include "lib/edit/fp8_recipe_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/dialect/fp8_slots.hpp"
#include "lib/edit/value_text.hpp"

namespace tare {
namespace {

/// As Python prints it.
std::string python_text(const Value& value) {
  const auto* flag = std::get_if<bool>(&value.data);
  if (flag == nullptr) return value_text(value);
  return *flag ? "True" : "False";
}

/// `text` with another value behind "name=", where that stands.
std::string with_value(std::string text, std::string_view name, const std::string& value) {
  const std::string key = fmt::format(", {}=", name);
  const std::size_t at = text.find(key);
  if (at == text.npos) return text;
  const std::size_t begin = at + key.size();
  return text.replace(begin, std::min(text.find(',', begin), text.size()) - begin, value);
}

}  // namespace

std::vector<NewField> renewed_recipe_texts(const FoundScaler& before, const FoundScaler& after) {
  std::vector<NewField> fields;
  for (const Field& field : before.fields) {
    const auto* old = std::get_if<std::string>(&field.value.data);
    if (old == nullptr || !field.name.ends_with(recipe_text_field)) continue;
    const std::string_view recipe =
        std::string_view(field.name).substr(0, field.name.size() - recipe_text_field.size());
    std::string text = *old;
    for (const Field& value : after.fields) {
      const Field* was = before.find(std::string_view(value.name));
      const bool is_its = value.name.starts_with(recipe) && was != nullptr && !same(was->value, value.value);
      if (is_its) text = with_value(std::move(text), value.name.substr(recipe.size()), python_text(value.value));
    }
    if (text != *old) fields.push_back({field.name, {text, field.value.type}, NewText{text}});
  }
  return fields;
}

}  // namespace tare
