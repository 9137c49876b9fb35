#include "tools/describe/option_names.hpp"

#include <algorithm>
#include <string_view>

#include "lib/state/role.hpp"

std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names;
  std::string_view rest = option.names;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

bool is_placed(const Option& option) {
  return *option.names != '-';
}

bool takes_value(const Option& option) {
  return !std::holds_alternative<bool*>(option.target);
}

bool is_repeated(const Option& option) {
  return std::holds_alternative<std::vector<std::string>*>(option.target);
}

std::string value_name(const Option& option) {
  if (const auto* one_of = std::get_if<OneOf>(&option.target)) return one_of->name;
  const bool is_number =
      std::holds_alternative<std::size_t*>(option.target) || std::holds_alternative<Within>(option.target);
  return is_number ? "NUMBER" : "TEXT";
}

std::vector<std::string> words_for(const Option& option) {
  if (const auto* one_of = std::get_if<OneOf>(&option.target)) return one_of->words;
  const std::string_view name = option.names;
  if (name != "KEY" && name != "ASSIGNMENT") return {};
  std::vector<std::string> words;
  for (const tare::RoleFacts& role : tare::roles()) {
    words.push_back(std::string(role.name) + (name == "ASSIGNMENT" ? "=" : ""));
  }
  return words;
}
