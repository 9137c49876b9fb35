#include "lib/attest/python_expression.hpp"

#include <algorithm>
#include <array>

#include "lib/attest/naming_keys.hpp"
#include "lib/base/holds.hpp"

namespace tare {
namespace {

/// Behind which an operand stands.
constexpr auto operators = std::to_array<std::string_view>({"and", "else", "if", "in", "is", "not", "or"});
constexpr auto other_keywords =
    std::to_array<std::string_view>({"async", "await", "class", "def", "del", "exec", "for", "from", "global", "import",
                                     "lambda", "match", "print", "raise", "while", "with", "yield"});
/// Attributes that are types and numbers.
constexpr auto plain_attributes = std::to_array<std::string_view>(
    {"np.float16",    "np.float32",    "np.float64",    "np.inf",     "np.int16",       "np.int32",   "np.int64",
     "np.int8",       "np.nan",        "np.pi",         "np.uint8",   "torch.bfloat16", "torch.bool", "torch.float",
     "torch.float16", "torch.float32", "torch.float64", "torch.half", "torch.inf",      "torch.int",  "torch.int32",
     "torch.int64",   "torch.int8",    "torch.long",    "torch.uint8"});

class ExpressionReader {
 public:
  explicit ExpressionReader(std::string_view expression) : rest_(expression) {}

  Reach read() && {
    while (!rest_.empty() && reach_ != Reach::calls) read_one();
    return reach_;
  }

 private:
  void read_one() {
    const char c = rest_.front();
    if (is_digit(c)) return read_number();
    if (c == '@') return read_reference();
    if (is_word(c)) return read_word();
    if (c == '"' || c == '\'') return read_text(c);
    const bool is_bracket = c == '(' || c == '[';
    if (is_bracket && may_be_called_) return reach(Reach::calls);
    const bool is_point = c == '.' && rest_.size() > 1 && is_digit(rest_[1]);
    if (c == '.' && !is_point) reach(Reach::attributes);
    if (std::string_view("\\ \t\r\n").find(c) == npos) may_be_called_ = c == ')' || c == ']';
    rest_.remove_prefix(std::min<std::size_t>(c == '\\' ? 2 : 1, rest_.size()));  // an escape is no part of a word
  }

  std::string_view take_while(const auto& is_part) {
    const auto end = std::ranges::find_if_not(rest_, is_part);
    const std::string_view part = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(part.size());
    return part;
  }

  /// Behind digits and a point that are all there is, a bracket calls nothing.
  void read_number() {
    const std::string_view number = take_while([](char c) { return is_word(c) || c == '.'; });
    may_be_called_ = !std::ranges::all_of(number, [](char c) { return is_digit(c) || c == '.'; }) ||
                     std::ranges::count(number, '.') > 1;
    if (std::ranges::count(number, '.') > 1) reach(Reach::attributes);
  }
  void read_reference() {
    take_while([](char c) { return is_word(c) || std::string_view("@#:").find(c) != npos; });
    may_be_called_ = true;
  }

  void read_word() {
    const std::string_view word = take_while([](char c) { return is_word(c) || c == '.'; });
    const bool is_filled_in = !rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'') &&
                              word.find_first_of("fFtT") != npos && !holds(operators, word);
    if (is_filled_in || holds(other_keywords, word)) return reach(Reach::calls);
    if (word.find('.') != npos && !holds(plain_attributes, word)) reach(Reach::attributes);
    may_be_called_ = !holds(operators, word);
  }

  void read_text(char quote) {
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != quote) end += rest_[end] == '\\' ? 2 : 1;
    rest_.remove_prefix(end < rest_.size() ? end + 1 : 1);
    may_be_called_ = true;
  }

  void reach(Reach further) { reach_ = std::max(reach_, further); }

  static constexpr std::size_t npos = std::string_view::npos;
  std::string_view rest_;
  bool may_be_called_ = false;  ///< what stands before, by a bracket behind it
  Reach reach_ = Reach::values;
};

}  // namespace

Reach reach_of(std::string_view expression) {
  return ExpressionReader(expression).read();
}

}  // namespace tare
