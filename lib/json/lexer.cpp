#include "lib/json/lexer.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/base/utf8.hpp"

namespace tare {
namespace {

using Word = JsonLexer::Word;

constexpr auto words = std::to_array<std::pair<std::string_view, Word>>({
    {"null", Word::null},
    {"true", Word::yes},
    {"false", Word::no},
    {"NaN", Word::nan},
    {"Infinity", Word::infinity},
    {"-Infinity", Word::minus_infinity},
});

}  // namespace

void JsonLexer::fail(std::string_view problem) const {
  throw Error(Status::corrupt, fmt::format("{}: JSON: at offset {}: {}", source_, at_, problem),
              "the file is cut short or damaged, or it is no JSON");
}

std::optional<JsonLexer::Word> JsonLexer::word() {
  for (const auto& [text, word] : words) {
    if (!text_.substr(at_).starts_with(text)) continue;
    at_ += text.size();
    return word;
  }
  return std::nullopt;
}

std::size_t JsonLexer::digits() {
  const std::size_t from = at_;
  while (here() >= '0' && here() <= '9') ++at_;
  if (at_ == from) fail("no JSON value");
  return at_ - from;
}

JsonLexer::Number JsonLexer::number() {
  const std::size_t begin = at_;
  if (here() == '-') ++at_;
  const bool starts_with_zero = here() == '0';
  if (digits() > 1 && starts_with_zero) fail("a number that starts with 0");
  bool is_float = false;
  if (here() == '.') {
    is_float = true;
    ++at_;
    digits();
  }
  if (here() == 'e' || here() == 'E') {
    is_float = true;
    ++at_;
    if (here() == '+' || here() == '-') ++at_;
    digits();
  }
  return {text_.substr(begin, at_ - begin), is_float};
}

std::uint32_t JsonLexer::hex4() {
  const std::string_view digits = text_.substr(at_, 4);
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (error != std::errc() || digits.size() != 4 || end != digits.data() + 4) fail("no four hexadecimal digits");
  at_ += 4;
  return code;
}

void JsonLexer::escape(std::string& to) {
  constexpr std::string_view marks = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  const char mark = here();
  ++at_;
  if (const std::size_t known = marks.find(mark); mark != '\0' && known != marks.npos) {
    to += meanings[known];
    return;
  }
  if (mark != 'u') fail("no escape of JSON");
  std::uint32_t code = hex4();
  const bool is_pair = code >= 0xd800 && code < 0xdc00 && text_.substr(at_).starts_with("\\u");
  if (is_pair) {
    at_ += 2;
    const std::uint32_t low = hex4();
    if (low < 0xdc00 || low > 0xdfff) fail("half of a character");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(to, code);
}

std::string_view JsonLexer::plain_part() {
  const std::size_t begin = at_;
  unsigned char all = 0;
  std::size_t end = begin;
  for (; end < text_.size() && text_[end] != '"' && text_[end] != '\\'; ++end) {
    const auto c = static_cast<unsigned char>(text_[end]);
    if (c < 0x20) fail("a text with a raw control character");
    all |= c;
  }
  if (end == text_.size()) fail("a text that does not end");
  const std::string_view part = text_.substr(begin, end - begin);
  if (all >= 0x80 && !is_utf8(part)) fail("a text that is no UTF-8");
  at_ = end + 1;
  return part;
}

std::string_view JsonLexer::string(std::string& decoded) {
  ++at_;
  const std::string_view first = plain_part();
  if (text_[at_ - 1] == '"') return first;
  decoded = first;
  do {
    escape(decoded);
    decoded += plain_part();
  } while (text_[at_ - 1] != '"');
  return decoded;
}

}  // namespace tare
