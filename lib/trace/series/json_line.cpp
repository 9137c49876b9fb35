#include "lib/trace/series/json_line.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "lib/base/letters.hpp"
#include "lib/base/read_double.hpp"

namespace tare {

namespace {

constexpr std::size_t deepest_value = 16;
constexpr std::size_t longest_path = 1024;

/// Of "5/93" the part that is done.
std::string_view done_of(std::string_view word) {
  const std::size_t slash = std::min(word.find('/'), word.size());
  const bool is_share = slash > 0 && slash + 1 < word.size() && std::ranges::all_of(word.substr(0, slash), is_digit) &&
                        std::ranges::all_of(word.substr(slash + 1), is_digit);
  return is_share ? word.substr(0, slash) : word;
}

class JsonLine {
 public:
  JsonLine(std::string_view text, const std::function<void(std::string_view, JsonNumber)>& tell)
      : rest_(text), tell_(tell) {}

  bool read() {
    skip_blanks();
    if (rest_.empty() || rest_[0] != '{' || !value()) return false;
    skip_blanks();
    return rest_.empty();
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r')) rest_.remove_prefix(1);
  }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  /// Without escapes: keys that a trace asks for have none.
  std::optional<std::string_view> text() {
    if (!take("\"")) return {};
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == '"') {
        const std::string_view found = rest_.substr(0, i);
        rest_.remove_prefix(i + 1);
        return found;
      }
    }
    return {};
  }

  bool members(char close, bool has_keys) {
    if (++depth_ > deepest_value) return false;
    skip_blanks();
    if (!rest_.empty() && rest_[0] == close) return rest_.remove_prefix(1), --depth_, true;
    for (;;) {
      skip_blanks();
      const std::size_t before = path_.size();
      if (has_keys) {
        const auto key = text();
        skip_blanks();
        if (!key || !take(":") || path_.size() + key->size() > longest_path) return false;
        if (!path_.empty()) path_.push_back('/');
        path_.append(*key);
      }
      if (!value()) return false;
      path_.resize(before);
      skip_blanks();
      if (take(",")) continue;
      --depth_;
      return take(std::string_view(&close, 1));
    }
  }

  void tell(JsonNumber number) {
    if (in_list_ == 0) tell_(path_, number);
  }

  bool value() {
    skip_blanks();
    if (rest_.empty()) return false;
    if (take("{")) return members('}', true);
    if (take("[")) {
      ++in_list_;
      const bool is_whole = members(']', false);
      --in_list_;
      return is_whole;
    }
    if (rest_[0] == '"') {
      const auto word = text();
      if (!word) return false;
      const std::string_view told = done_of(*word);
      double number = 0;
      const auto [end, error] = read_double(told.data(), told.data() + told.size(), number);
      if (error == std::errc() && end == told.data() + told.size() && !told.empty()) tell({number, false});
      return true;
    }
    if (take("true")) return tell({1, true}), true;
    if (take("false")) return tell({0, true}), true;
    if (take("null")) return true;
    double number = 0;
    const auto [end, error] = read_double(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    tell({number, false});
    return true;
  }

  std::string_view rest_;
  const std::function<void(std::string_view, JsonNumber)>& tell_;
  std::string path_;
  std::size_t depth_ = 0, in_list_ = 0;
};

}  // namespace

bool read_json_line(std::string_view text, const std::function<void(std::string_view, JsonNumber)>& tell) {
  return JsonLine(text, tell).read();
}

}  // namespace tare
