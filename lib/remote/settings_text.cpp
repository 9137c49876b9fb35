#include "lib/remote/settings_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "lib/base/error.hpp"
#include "lib/base/letters.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/source.hpp"
#include "lib/remote/spoken_by.hpp"

namespace tare {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
  return text.substr(0, text.find_last_not_of(blank) + 1);
}

std::string small_file(const std::string& path) {
  try {
    const FileSource source(path);
    if (source.size() > limits::max_small_text_bytes) return {};
    return std::string(as_text(source.read({0, source.size()})));
  } catch (const Error&) {
    return {};
  }
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

namespace {

/// What stands in the brackets of a line; empty where it has none.
std::string_view heading_in(std::string_view line) {
  const std::size_t end = line.rfind(']');
  return line.starts_with('[') && end != line.npos ? trimmed(line.substr(1, end - 1)) : std::string_view();
}

/// As it is written, or its words as a shell has them with one blank between: the aws command reads the names of one
/// file so, and those of the other so. "profile default" is "default" to it.
bool is_heading_of(std::string_view heading, std::string_view section) {
  if (heading == section) return true;
  const std::string words = fmt::format("{}", fmt::join(words_of_command(heading), " "));
  return words == section || (words == "profile default" && section == "default");
}

/// Calls `take` with each key and value in `[section]`, and the key without a value below which they are set in, until
/// it says that it has what it wants.
template <typename Take>
void for_each_setting(std::string_view text, std::string_view section, const Take& take) {
  bool is_inside = false;
  std::string_view group;
  std::size_t group_indent = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end), line = trimmed(whole);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const std::string_view heading = heading_in(line); !heading.empty()) {
      is_inside = is_heading_of(heading, section);
      group = {};
      continue;
    }
    const std::size_t equals = line.find_first_of("=:");
    const bool is_comment = line.starts_with('#') || line.starts_with(';');
    if (!is_inside || is_comment || equals == line.npos) continue;
    const std::string_view key = trimmed(line.substr(0, equals)), value = trimmed(line.substr(equals + 1));
    const std::size_t indent = whole.find_first_not_of(" \t");
    if (indent <= group_indent) group = {};
    if (take(group, key, value)) return;
    if (!value.empty() || !group.empty()) continue;
    group = key;
    group_indent = indent;
  }
}

}  // namespace

bool has_section(std::string_view text, std::string_view section) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view heading = heading_in(trimmed(text.substr(0, end)));
    if (!heading.empty() && is_heading_of(heading, section)) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

std::string ini_value_within(std::string_view text, std::string_view section, std::string_view group,
                             std::string_view key) {
  std::string found;
  for_each_setting(text, section, [&](std::string_view within, std::string_view name, std::string_view value) {
    const bool is_it = in_small_letters(within) == group && in_small_letters(name) == key;
    if (is_it) found = value;
    return is_it;
  });
  return found;
}

std::string ini_value(std::string_view text, std::string_view section, std::string_view key) {
  return ini_value_within(text, section, "", key);
}

std::optional<Bytes> from_base64(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  Bytes bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.find('='))) {
    const std::size_t digit = digits.find(c);
    if (digit == digits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> count & 0xff));
  }
  return bytes;
}

}  // namespace tare
