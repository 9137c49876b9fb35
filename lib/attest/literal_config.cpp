#include "lib/attest/literal_config.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/attest/naming_keys.hpp"
#include "lib/base/holds.hpp"

namespace tare {
namespace {

/// JSON's and NumPy's among them: names that Python does not know, or numbers.
constexpr auto constants =
    std::to_array<std::string_view>({"True", "False", "None", "true", "false", "null", "inf", "nan"});
/// Names that keep their meaning.
constexpr auto called = std::to_array<std::string_view>({"dict", "float"});
/// With which something is called, imported or assigned without a bracket.
constexpr auto statements = std::to_array<std::string_view>({"class", "def", "exec", "for", "import", "print", "with"});
constexpr std::string_view blanks_of_python = " \t\r";
constexpr int deepest = 64;

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
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
      if (!read_statement() || !ends_line()) return false;
    }
    return !has_coding_;
  }
  bool read_call() {
    if (take_name().empty() || !rest_.starts_with('(')) return false;
    rest_.remove_prefix(1);
    if (!read_keywords(0)) return false;
    skip_blanks(true);
    return rest_.empty();
  }
  std::vector<ConfigText> texts() && { return std::move(texts_); }

 private:
  /// A variable and its value, or a value that is for nothing.
  bool read_statement() {
    const std::string_view before = rest_;
    const std::string_view variable = take_name();
    const bool may_be_set = !variable.empty() && !holds(called, variable) && !holds(constants, variable);
    if (may_be_set && (take('=') || take(':'))) return read_value(variable, 0);
    rest_ = before;
    return read_value("", 0);
  }

  /// Between brackets lines do not end.
  void skip_blanks(bool is_bracketed) {
    while (!rest_.empty()) {
      if (rest_.front() == '#') {
        skip_comment();
      } else if (blanks_of_python.find(rest_.front()) != blanks_of_python.npos ||
                 (is_bracketed && rest_.front() == '\n')) {
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }
  /// In one, Python is told what its bytes stand for.
  void skip_comment() {
    const std::string_view comment = rest_.substr(0, rest_.find_first_of("\r\n"));
    has_coding_ |= comment.find("coding") != comment.npos;
    rest_.remove_prefix(comment.size());
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
    if (name == "float") return take('(') && read_inner(key, depth) && take(')');
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
    const bool has_prefix = rest_.size() > 1 && std::string_view("rRuUbB").find(rest_.front()) != rest_.npos;
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

  /// Or several, and what is worked out of them.
  bool read_number() {
    while (read_single_number()) {
      skip_blanks(false);
      const std::size_t size = std::min(rest_.find_first_not_of("+-*/"), rest_.size());
      if (size == 0) return true;
      rest_.remove_prefix(size);
      skip_blanks(false);
    }
    return false;
  }
  bool read_single_number() {
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
  bool has_coding_ = false;
  std::vector<ConfigText> texts_;
};

/// A carriage return alone ends a line for Python, not here.
bool has_control(std::string_view source) {
  for (std::size_t at = 0; at < source.size(); ++at) {
    const bool is_break = source[at] == '\n' || source.substr(at, 2) == "\r\n";
    if (static_cast<unsigned char>(source[at]) < ' ' && source[at] != '\t' && !is_break) return true;
  }
  return false;
}

bool has_statement(std::string_view source) {
  while (!source.empty()) {
    const auto end = std::ranges::find_if_not(source, is_in_name);
    const std::string_view word = source.substr(0, static_cast<std::size_t>(end - source.begin()));
    if (holds(statements, word)) return true;
    source.remove_prefix(std::max<std::size_t>(word.size(), 1));
  }
  return false;
}

}  // namespace

std::optional<std::vector<ConfigText>> texts_of_literals(std::string_view source) {
  if (source.find("{{") != source.npos || has_control(source)) return std::nullopt;
  LiteralReader reader(source);
  if (!reader.read_all()) return std::nullopt;
  return std::move(reader).texts();
}

bool calls_nothing(std::string_view source) {
  const auto is_plain = [](char c) {
    return is_in_name(c) || std::string_view("./-:,{}\"' \r\n").find(c) != std::string_view::npos;
  };
  return std::ranges::all_of(source, is_plain) && !has_statement(source);
}

bool is_call_with_literals(std::string_view source) {
  return !has_control(source) && LiteralReader(source).read_call();
}

}  // namespace tare
