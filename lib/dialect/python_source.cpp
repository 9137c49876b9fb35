#include "lib/dialect/python_source.hpp"

#include <algorithm>

namespace tare {
namespace {

constexpr std::string_view blanks = " \t\r";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

/// A statement goes on in lines that are indented or close what it opened.
bool begins_statement(std::string_view line) {
  return !line.empty() && is_word(line.front());
}

bool assigns_one_of(std::string_view line, std::span<const std::string_view> names) {
  const std::size_t sign = line.find('=');
  return sign != line.npos && std::ranges::find(names, without_blanks(line.substr(0, sign))) != names.end();
}

/// What each `keyword=`, and each 'keyword': of a dict that is written out, is followed by.
void add_values(std::vector<std::string_view>& values, std::string_view line, std::string_view keyword) {
  for (std::size_t at = line.find(keyword); at != line.npos; at = line.find(keyword, at + 1)) {
    if (at > 0 && is_word(line[at - 1])) continue;
    std::string_view rest = line.substr(at + keyword.size());
    if (rest.starts_with('\'') || rest.starts_with('"')) rest.remove_prefix(1);
    rest = without_blanks(rest);
    if (rest.empty() || (rest.front() != '=' && rest.front() != ':')) continue;
    rest.remove_prefix(1);
    values.push_back(without_blanks(rest.substr(0, rest.find_first_of(",)]}#"))));
  }
}

}  // namespace

std::vector<std::string_view> keyword_values(std::string_view source, std::span<const std::string_view> names,
                                             std::string_view keyword) {
  std::vector<std::string_view> values;
  bool is_theirs = false;
  while (!source.empty()) {
    const std::string_view line = source.substr(0, source.find('\n'));
    source.remove_prefix(std::min(line.size() + 1, source.size()));
    if (begins_statement(line)) is_theirs = assigns_one_of(line, names);
    if (is_theirs) add_values(values, line, keyword);
  }
  return values;
}

}  // namespace tare
