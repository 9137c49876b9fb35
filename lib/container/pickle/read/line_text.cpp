#include "lib/container/pickle/read/line_text.hpp"

#include <charconv>
#include <cstdint>
#include <optional>

#include "lib/base/utf8.hpp"

namespace tare {
namespace {

/// The hexadecimal number of exactly `digits` digits at the start of `text`; nothing where there is none.
std::optional<std::uint32_t> hexadecimal(std::string_view text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value, 16);
  if (error != std::errc() || end != text.data() + digits) return std::nullopt;
  return value;
}

/// How many of the first three characters are octal digits.
std::size_t octal_digits(std::string_view text) {
  constexpr std::size_t most = 3;
  text = text.substr(0, most);
  const std::size_t other = text.find_first_not_of("01234567");
  return other == text.npos ? text.size() : other;
}

/// Takes an escape off the front of `text`, which begins with the character behind the backslash.
void append_escape(std::string& to, std::string_view& text) {
  static constexpr std::string_view letters = "ntrabfv\\'\"";
  static constexpr std::string_view meanings = "\n\t\r\a\b\f\v\\'\"";
  const std::size_t letter = letters.find(text.front());
  const std::size_t octals = octal_digits(text);
  const auto code = text.front() == 'x' ? hexadecimal(text.substr(1), 2) : std::nullopt;
  std::size_t taken = 1;
  if (code) {
    to += static_cast<char>(*code);
    taken = 3;
  } else if (octals > 0) {
    constexpr int octal = 8;
    std::uint32_t value = 0;
    std::from_chars(text.data(), text.data() + octals, value, octal);
    to += static_cast<char>(value);
    taken = octals;
  } else if (letter != letters.npos) {
    to += meanings[letter];
  } else {
    to += '\\';
    to += text.front();
  }
  text.remove_prefix(taken);
}

}  // namespace

std::string unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char first = text.front();
    text.remove_prefix(1);
    if (first == '\\' && !text.empty()) {
      append_escape(out, text);
    } else {
      out += first;
    }
  }
  return out;
}

std::string raw_unicode(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t digits = text.starts_with("\\u") ? 4 : text.starts_with("\\U") ? 8 : 0;
    const auto point = digits != 0 ? hexadecimal(text.substr(2), digits) : std::nullopt;
    if (point) {
      append_utf8(out, *point);
      text.remove_prefix(digits + 2);
      continue;
    }
    // A backslash takes the character behind it along, which may be another one.
    const std::size_t taken = text.front() == '\\' && text.size() > 1 ? 2 : 1;
    for (const char c : text.substr(0, taken)) append_utf8(out, static_cast<unsigned char>(c));
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace tare
