#include "lib/attest/literal_config.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/holds.hpp"

namespace tare {
namespace {

constexpr auto constants = std::to_array<std::string_view>({"True", "False", "None"});
constexpr int deepest = 64;

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_in_name(char c) {
  return begins_name(c) || is_digit(c);
}

/// Reads no more of Python than mmengine writes; what it does not know ends it.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view source) : rest_(source) {}

  bool read_all() {
    for (skip_blanks(true); !rest_.empty(); skip_blanks(true)) {
      const std::string_view variable = take_name();
      if (variable.empty() || variable == "dict" || !take('=') || !read_value(variable, 0) || !ends_line())
        return false;
    }
    return true;
  }
  std::vector<ConfigText> texts() && { return std::move(texts_); }

 private:
  /// Between brackets lines do not end.
  void skip_blanks(bool is_bracketed) {
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c != ' ' && c != '\t' && (!is_bracketed || c != '\n')) return;
      rest_.remove_prefix(1);
    }
  }
  bool ends_line() {
    skip_blanks(false);
    return rest_.empty() || rest_.front() == '\n';
  }
  bool take(char c) {
    skip_blanks(true);
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view take_name() {
    skip_blanks(true);
    if (rest_.empty() || !begins_name(rest_.front())) return {};
    const auto end = std::ranges::find_if_not(rest_, is_in_name);
    const std::string_view name = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(name.size());
    return name;
  }

  bool read_value(std::string_view key, int depth) {
    if (depth == deepest) return false;
    skip_blanks(false);  // what goes on in another line outside brackets is no value
    if (rest_.empty()) return false;
    switch (rest_.front()) {
      case '[':
        return read_items(key, ']', depth);
      case '(':
        return read_items(key, ')', depth);
      case '{':
        return read_pairs(key, depth);
      default:
        return read_single(key, depth);
    }
  }

  bool read_single(std::string_view key, int depth) {
    if (begins_text()) {
      std::string text;
      if (!read_texts(text, depth)) return false;
      texts_.push_back({std::string(key), std::move(text)});
      return true;
    }
    const std::string_view name = take_name();
    if (name == "dict") return take('(') && read_keywords(depth);
    return name.empty() ? read_number() : holds(constants, name);
  }

  /// A list, a tuple, a value in brackets.
  bool read_items(std::string_view key, char end, int depth) {
    rest_.remove_prefix(1);
    while (!take(end)) {
      if (!read_value(key, depth + 1)) return false;
      if (!take(',')) return take(end);
    }
    return true;
  }
  bool read_keywords(int depth) {
    while (!take(')')) {
      const std::string_view key = take_name();
      if (key.empty() || !take('=') || !read_inner(key, depth)) return false;
      if (!take(',')) return take(')');
    }
    return true;
  }
  /// A dict, or a set.
  bool read_pairs(std::string_view key, int depth) {
    rest_.remove_prefix(1);
    while (!take('}')) {
      skip_blanks(true);
      std::string inner_key(key);
      if (begins_text() ? !read_texts(inner_key, depth + 1) : !read_value(key, depth + 1)) return false;
      const bool is_pair = take(':');
      if (is_pair && !read_inner(inner_key, depth)) return false;
      if (!is_pair) texts_.push_back({std::string(key), inner_key});
      if (!take(',')) return take('}');
    }
    return true;
  }
  bool read_inner(std::string_view key, int depth) {
    skip_blanks(true);
    return read_value(key, depth + 1);
  }

  [[nodiscard]] bool begins_text() const {
    const std::string_view quotes = "'\"";
    const bool has_prefix = rest_.size() > 1 && std::string_view("rRuU").find(rest_.front()) != rest_.npos;
    const std::string_view text = rest_.substr(has_prefix ? 1 : 0);
    return !text.empty() && quotes.find(text.front()) != quotes.npos;
  }
  /// One or several behind each other, which are one.
  bool read_texts(std::string& text, int depth) {
    text.clear();
    for (; begins_text(); skip_blanks(depth > 0)) {
      if (std::string_view("'\"").find(rest_.front()) == rest_.npos) rest_.remove_prefix(1);
      const std::string triple(3, rest_.front());
      if (!read_text(rest_.starts_with(triple) ? triple : triple.substr(0, 1), text)) return false;
    }
    return true;
  }
  /// A backslash stays, as what follows it does.
  bool read_text(const std::string& quote, std::string& text) {
    rest_.remove_prefix(quote.size());
    while (!rest_.empty() && !rest_.starts_with(quote)) {
      const std::size_t size = rest_.front() == '\\' ? std::min<std::size_t>(2, rest_.size()) : 1;
      if (rest_.front() == '\n' && quote.size() == 1) return false;
      text += rest_.substr(0, size);
      rest_.remove_prefix(size);
    }
    if (rest_.empty()) return false;
    rest_.remove_prefix(quote.size());
    return true;
  }

  bool read_number() {
    if (rest_.starts_with('-') || rest_.starts_with('+')) rest_.remove_prefix(1);
    const bool begins = !rest_.empty() && (is_digit(rest_.front()) || rest_.front() == '.');
    bool is_after_exponent = false;
    const auto end = std::ranges::find_if_not(rest_, [&](char c) {
      const bool is_part = is_in_name(c) || c == '.' || (is_after_exponent && (c == '-' || c == '+'));
      is_after_exponent = c == 'e' || c == 'E';
      return is_part;
    });
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.begin()));
    return begins;
  }

  std::string_view rest_;
  std::vector<ConfigText> texts_;
};

}  // namespace

std::optional<std::vector<ConfigText>> texts_of_literals(std::string_view source) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t'; };
  if (source.find("{{") != source.npos || std::ranges::any_of(source, is_control)) return std::nullopt;
  LiteralReader reader(source);
  if (!reader.read_all()) return std::nullopt;
  return std::move(reader).texts();
}

}  // namespace tare
