// The words of JSON text, one after the other, for those who know what should stand next.
// Format: RFC 8259, and the NaN, Infinity and -Infinity of Python's json module.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tare {

class JsonLexer {
 public:
  enum class Word : std::uint8_t { null, yes, no, nan, infinity, minus_infinity };
  struct Number {
    std::string_view text;
    bool is_float;  ///< has a fraction or an exponent
  };
  static constexpr std::uint64_t steps_a_byte = 4;  ///< what reading takes from a budget

  /// Borrows both. `source` names the text in messages. Whatever is no JSON throws `corrupt`.
  JsonLexer(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  /// Where the lexer stands. Once it has looked for something, that is behind white space.
  [[nodiscard]] std::size_t at() const { return at_; }
  /// The character there; 0 at the end.
  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  /// Whether that mark stood there; then the lexer is behind it.
  bool take(char mark) {
    skip_space();
    if (here() != mark || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void require(char mark, std::string_view otherwise) {
    if (!take(mark)) fail(otherwise);
  }
  void require_end() {
    skip_space();
    if (at_ != text_.size()) fail("something stands behind the end");
  }

  /// REQUIRES: here() == '"'. Where it has escapes, what they stand for is in `decoded`, and that is what it returns.
  std::string_view string(std::string& decoded);
  std::optional<Word> word();
  Number number();
  [[noreturn]] void fail(std::string_view problem) const;

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  std::size_t digits();
  std::uint32_t hex4();
  void escape(std::string& to);
  /// Up to the next quote or escape.
  std::string_view plain_part();

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
};

}  // namespace tare
