// Format: RFC 8259, and the NaN, Infinity and -Infinity of Python's json module.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/text.hpp"
#include "lib/json/reader.hpp"

namespace tare {
namespace {

void append_utf8(std::string& to, std::uint32_t code) {
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xc0 | code >> 6);
    to += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    to += static_cast<char>(0xe0 | code >> 12);
    to += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    to += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    to += static_cast<char>(0xf0 | code >> 18);
    to += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    to += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    to += static_cast<char>(0x80 | (code & 0x3f));
  }
}

struct Word {
  std::string_view text;
  enum class Value : std::uint8_t { none, yes, no, nan, infinity, minus_infinity } value;
};

constexpr auto words = std::to_array<Word>({
    {"null", Word::Value::none},
    {"true", Word::Value::yes},
    {"false", Word::Value::no},
    {"NaN", Word::Value::nan},
    {"Infinity", Word::Value::infinity},
    {"-Infinity", Word::Value::minus_infinity},
});

constexpr std::uint64_t steps_a_byte = 4;

class JsonReader {
 public:
  JsonReader(std::string_view text, const std::string& source, std::shared_ptr<Budget> budget)
      : text_(text), source_(source), tree_(source, std::move(budget)) {}

  PlainTree read() {
    bool is_whole = value();
    while (tree_.depth() > 0) {
      is_whole = is_whole ? closes() : value();
    }
    skip_space();
    if (at_ != text_.size()) fail("something stands behind the end");
    return std::move(tree_);
  }

  /// Up to so many members of the object in which the reader stands, as a map; empty behind the last.
  PlainTree members(std::size_t most, std::shared_ptr<Budget> budget) {
    tree_ = PlainTree(source_, std::move(budget));
    tree_.open(Kind::map, {at_, 1});
    ends_.assign(1, '}');
    for (std::size_t count = 0; count < most && !is_at_end_; ++count) {
      bool is_whole = value();
      while (tree_.depth() > 1) is_whole = is_whole ? closes() : value();
      if (take(',')) continue;
      if (!take('}')) fail("a comma or the end should stand here");
      is_at_end_ = true;
    }
    tree_.close(at_);
    return std::move(tree_);
  }

  void enter_object() {
    if (!take('{')) fail("an object should stand here");
    is_at_end_ = take('}');
  }

  [[nodiscard]] bool is_behind_object() {
    if (!is_at_end_) return false;
    skip_space();
    if (at_ != text_.size()) fail("something stands behind the end");
    return true;
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    throw Error(Status::corrupt, fmt::format("{}: JSON: at offset {}: {}", source_, at_, problem),
                "the file is cut short or damaged, or it is no JSON");
  }

  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  bool take(char wanted) {
    skip_space();
    if (here() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  /// Reads a value; of a collection only its start. Whether it is whole.
  bool value() {
    if (tree_.wants_key()) {
      skip_space();
      if (here() != '"') fail("a name should stand here");
      string();
      if (!take(':')) fail("a colon should stand here");
    }
    skip_space();
    const std::size_t begin = at_;
    if (take('{')) return open(Kind::map, begin, '}');
    if (take('[')) return open(Kind::list, begin, ']');
    if (here() == '"') {
      string();
    } else if (!word()) {
      number();
    }
    return true;
  }

  /// Whether it is an empty one.
  bool open(Kind kind, std::size_t begin, char end) {
    tree_.open(kind, {begin, 1});
    ends_.push_back(end);
    return take(end) && close();
  }

  bool close() {
    tree_.close(at_);
    ends_.pop_back();
    return true;
  }

  /// Behind a value: a comma, or the end of what holds it, which is a whole value itself then.
  bool closes() {
    if (take(',')) return false;
    if (!take(ends_.back())) fail("a comma or the end should stand here");
    return close();
  }

  bool word() {
    for (const Word& word : words) {
      if (!text_.substr(at_).starts_with(word.text)) continue;
      const Span place{at_, word.text.size()};
      at_ += word.text.size();
      constexpr double infinity = std::numeric_limits<double>::infinity();
      switch (word.value) {
        case Word::Value::none:
          tree_.none(place);
          break;
        case Word::Value::nan:
          tree_.floating(std::numeric_limits<double>::quiet_NaN(), place);
          break;
        case Word::Value::infinity:
        case Word::Value::minus_infinity:
          tree_.floating(word.value == Word::Value::infinity ? infinity : -infinity, place);
          break;
        default:
          tree_.boolean(word.value == Word::Value::yes, place);
      }
      return true;
    }
    return false;
  }

  std::size_t digits() {
    const std::size_t from = at_;
    while (here() >= '0' && here() <= '9') ++at_;
    if (at_ == from) fail("no JSON value");
    return at_ - from;
  }

  void number() {
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
    const std::string_view text = text_.substr(begin, at_ - begin);
    const Span place{begin, text.size()};
    is_float ? add_float(text, place) : add_integer(text, place);
  }

  void add_float(std::string_view text, Span place) {
    double value = 0;
    const auto error = std::from_chars(text.data(), text.data() + text.size(), value).ec;
    // Out of range: what Python makes of it.
    if (error == std::errc::result_out_of_range) value = std::strtod(std::string(text).c_str(), nullptr);
    tree_.floating(value, place);
  }

  void add_integer(std::string_view text, Span place) {
    std::int64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc()) {
      tree_.integer(value, place);
      return;
    }
    if (text.size() > limits::max_integer_digits) fail(fmt::format("an integer of {} digits", text.size()));
    tree_.big_integer(text, place);
  }

  std::uint32_t hex4() {
    const std::string_view digits = text_.substr(at_, 4);
    std::uint32_t code = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || digits.size() != 4 || end != digits.data() + 4) fail("no four hexadecimal digits");
    at_ += 4;
    return code;
  }

  void escape(std::string& to) {
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

  void string() {
    const std::size_t begin = at_++;
    std::string text;
    for (;;) {
      const std::size_t next = text_.find_first_of("\"\\", at_);
      if (next == text_.npos) fail("a text that does not end");
      const std::string_view part = text_.substr(at_, next - at_);
      const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
      if (std::any_of(part.begin(), part.end(), is_control)) fail("a text with a raw control character");
      if (!is_utf8(part)) fail("a text that is no UTF-8");
      text += part;
      at_ = next + 1;
      if (text_[next] == '"') break;
      escape(text);
    }
    tree_.text(Kind::string, text, {begin, at_ - begin});
  }

  std::string_view text_;
  const std::string& source_;
  PlainTree tree_;
  std::string ends_;        ///< of the open collections
  bool is_at_end_ = false;  ///< of an object that is read some members at a time
  std::size_t at_ = 0;
};

}  // namespace

PlainTree read_json(ByteView text, const std::string& source, std::shared_ptr<Budget> budget) {
  if (budget == nullptr) budget = std::make_shared<Budget>(source, text.size());
  budget->take_steps(steps_a_byte * text.size());
  return JsonReader(as_text(text), source, std::move(budget)).read();
}

void read_json_members(ByteView text, const std::string& source, const std::shared_ptr<Budget>& budget,
                       const std::function<void(const PlainTree& some)>& take) {
  constexpr std::size_t at_a_time = 1024;
  const auto whole = budget != nullptr ? budget : std::make_shared<Budget>(source, text.size());
  whole->take_steps(steps_a_byte * text.size());
  JsonReader reader(as_text(text), source, whole);
  reader.enter_object();
  while (!reader.is_behind_object()) {
    take(reader.members(at_a_time, std::make_shared<Budget>(source, text.size(), whole)));
  }
}

}  // namespace tare
