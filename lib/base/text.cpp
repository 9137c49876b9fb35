#include "lib/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "lib/base/read_double.hpp"

namespace tare {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t size = 0;  ///< bytes used; 0 where the text is not UTF-8 here
};

CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  std::uint32_t value = lead & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  if (overlong || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {};
  return {value, size};
}

/// Marks that draw nothing or turn the text around them: a name must not be able to disguise itself.
bool is_invisible(std::uint32_t c) {
  return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0x00ad ||
         c == 0x061c || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

std::optional<double> parse_plain(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
  if (text.empty() || text.front() == '-' || text.front() == '+') return std::nullopt;
  auto format = std::chars_format::general;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    text.remove_prefix(2);
    format = std::chars_format::hex;
    if (text.front() == '-' || text.front() == '+') return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = read_double(text.data(), text.data() + text.size(), value, format);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::optional<double> parse_number(std::string_view text) {
  std::size_t mark = text.find('^');
  std::size_t mark_size = 1;
  if (mark == std::string_view::npos) {
    mark = text.find("**");
    mark_size = 2;
  }
  if (mark == std::string_view::npos) return parse_plain(text);
  const auto base = parse_plain(text.substr(0, mark));
  const auto exponent = parse_plain(text.substr(mark + mark_size));
  if (!base || !exponent) return std::nullopt;
  return std::pow(*base, *exponent);
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode(text);
    const std::size_t size = point.size == 0 ? 1 : point.size;
    if (point.size == 0 || point.value < 0x20 || point.value == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if ((point.value >= 0x80 && point.value < 0xa0) || is_invisible(point.value)) {
      out += fmt::format("\\u{{{:04x}}}", point.value);
    } else if (point.value == '\\') {
      out += "\\\\";
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return out;
}

namespace {

/// In the quotes of bash, zsh and POSIX of 2024 that have escapes, by bytes.
std::string word_with_escapes(std::string_view text) {
  std::string word = "$'";
  while (!text.empty()) {
    const std::size_t size = std::max<std::size_t>(decode(text).size, 1);
    const std::string_view character = text.substr(0, size);
    if (character == "\\" || character == "'") {
      word.append(1, '\\').append(character);
    } else if (escaped(character) == character) {
      word += character;
    } else {
      for (const char byte : character) word += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    text.remove_prefix(size);
  }
  return word + "'";
}

}  // namespace

/// Fit for a terminal as it is: to escape it once more would be another word.
std::string shell_word(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(plain) == text.npos) return std::string(text);
  if (escaped(text) != text) return word_with_escapes(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += R"('"'"')";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::string shell_path(std::string_view path) {
  return shell_word(path.starts_with('-') ? "./" + std::string(path) : std::string(path));
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode(text);
    if (point.size == 0) return false;
    text.remove_prefix(point.size);
  }
  return true;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (std::size_t j = 0; j < 4; ++j) out += j <= count ? alphabet[group >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

}  // namespace tare
