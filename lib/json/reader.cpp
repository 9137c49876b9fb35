#include "lib/json/reader.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <utility>

#include "lib/base/limits.hpp"
#include "lib/base/read_double.hpp"
#include "lib/json/lexer.hpp"

namespace tare {
namespace {

class JsonReader {
 public:
  JsonReader(std::string_view text, const std::string& source, std::shared_ptr<Budget> budget)
      : lexer_(text, source), tree_(source, std::move(budget)) {}

  PlainTree read() && {
    bool is_whole = value();
    while (tree_.depth() > 0) {
      is_whole = is_whole ? closes() : value();
    }
    lexer_.require_end();
    return std::move(tree_);
  }

 private:
  /// Reads a value; of a collection only its start. Whether it is whole.
  bool value() {
    if (tree_.wants_key()) {
      lexer_.skip_space();
      if (lexer_.here() != '"') lexer_.fail("a name should stand here");
      string();
      lexer_.require(':', "a colon should stand here");
    }
    lexer_.skip_space();
    const std::size_t begin = lexer_.at();
    if (lexer_.take('{')) return open(Kind::map, begin, '}');
    if (lexer_.take('[')) return open(Kind::list, begin, ']');
    if (lexer_.here() == '"') {
      string();
    } else if (const auto word = lexer_.word()) {
      add_word(*word, place_from(begin));
    } else {
      const JsonLexer::Number number = lexer_.number();
      number.is_float ? add_float(number.text, place_from(begin)) : add_integer(number.text, place_from(begin));
    }
    return true;
  }

  [[nodiscard]] Span place_from(std::size_t begin) const { return {begin, lexer_.at() - begin}; }

  /// Whether it is an empty one.
  bool open(Kind kind, std::size_t begin, char end) {
    tree_.open(kind, {begin, 1});
    ends_.push_back(end);
    return lexer_.take(end) && close();
  }

  bool close() {
    tree_.close(lexer_.at());
    ends_.pop_back();
    return true;
  }

  /// Behind a value: a comma, or the end of what holds it, which is a whole value itself then.
  bool closes() {
    if (lexer_.take(',')) return false;
    lexer_.require(ends_.back(), "a comma or the end should stand here");
    return close();
  }

  void string() {
    const std::size_t begin = lexer_.at();
    const std::string_view text = lexer_.string(decoded_);
    tree_.text(Kind::string, text, place_from(begin));
  }

  void add_word(JsonLexer::Word word, Span place) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    switch (word) {
      case JsonLexer::Word::null:
        tree_.none(place);
        break;
      case JsonLexer::Word::nan:
        tree_.floating(std::numeric_limits<double>::quiet_NaN(), place);
        break;
      case JsonLexer::Word::infinity:
      case JsonLexer::Word::minus_infinity:
        tree_.floating(word == JsonLexer::Word::infinity ? infinity : -infinity, place);
        break;
      case JsonLexer::Word::yes:
      case JsonLexer::Word::no:
        tree_.boolean(word == JsonLexer::Word::yes, place);
    }
  }

  void add_float(std::string_view text, Span place) {
    double value = 0;
    const auto error = read_double(text.data(), text.data() + text.size(), value).ec;
    // Out of range: what Python makes of it.
    if (error == std::errc::result_out_of_range) value = nearest_double(text);
    tree_.floating(value, place);
  }

  void add_integer(std::string_view text, Span place) {
    std::int64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc()) {
      tree_.integer(value, place);
      return;
    }
    if (text.size() > limits::max_integer_digits) lexer_.fail(fmt::format("an integer of {} digits", text.size()));
    tree_.big_integer(text, place);
  }

  JsonLexer lexer_;
  PlainTree tree_;
  std::string decoded_;  ///< of a text with escapes
  std::string ends_;     ///< of the open collections
};

}  // namespace

PlainTree read_json(ByteView text, const std::string& source, std::shared_ptr<Budget> budget) {
  if (budget == nullptr) budget = std::make_shared<Budget>(source, text.size());
  budget->take_steps(JsonLexer::steps_a_byte * text.size());
  return JsonReader(as_text(text), source, std::move(budget)).read();
}

}  // namespace tare
