#include "lib/trace/text/line_shape.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "lib/base/holds.hpp"
#include "lib/base/letters.hpp"
#include "lib/base/read_double.hpp"
#include "lib/base/whole_number.hpp"

namespace tare {

namespace {

constexpr std::size_t most_skipped = 40;  // aligned columns

bool is_filler(char c) {
  return std::strchr(" \t:=\"'[(", c) != nullptr && c != '\0';
}

struct Number {
  double value;
  std::size_t end;
};

std::optional<Number> flag_at(std::string_view text, std::size_t at) {
  constexpr std::pair<std::string_view, double> words[] = {{"True", 1}, {"true", 1}, {"False", 0}, {"false", 0}};
  for (const auto& [word, value] : words) {
    if (text.substr(at).starts_with(word)) return Number{value, at + word.size()};
  }
  return {};
}

/// "1,048,576", of which `first` has read what stands before a comma: behind each stand three digits, and no more.
std::optional<Number> grouped(std::string_view text, std::size_t begin, const Number& first) {
  constexpr std::size_t digits = 3;
  if (first.end - begin > digits || !is_digit(text[begin]) || text[begin] == '0') return {};
  Number whole = first;
  while (whole.end + 1 < text.size() && text[whole.end] == ',' && is_digit(text[whole.end + 1])) {
    const std::string_view behind = text.substr(whole.end + 1);
    const std::string_view group = behind.substr(0, behind.find_first_not_of("0123456789"));
    if (group.size() != digits) return {};
    double value = 0;
    read_double(group.data(), group.data() + digits, value);
    whole = {1000 * whole.value + value, whole.end + 1 + digits};
  }
  return whole.end == first.end ? std::nullopt : std::optional(whole);
}

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// "64k", "1.5M": of how many, the number before it does not tell.
bool is_multiplied(std::string_view text, std::size_t end) {
  constexpr std::string_view letters = "kKMGB";
  const bool is_letter = end < text.size() && letters.find(text[end]) != letters.npos;
  return is_letter && (end + 1 == text.size() || !is_letter_or_digit(text[end + 1]));
}

/// Behind what numbers of torch, NumPy 2, TensorFlow and JAX are printed in: "np.float32(65536.0)", "tensor([65536.])".
std::size_t unwrapped_at(std::string_view text, std::size_t at) {
  constexpr std::string_view wrappers[] = {"tensor(",     "Tensor(",     "tf.Tensor(",  "np.float16(",
                                           "np.float32(", "np.float64(", "np.int32(",   "np.int64(",
                                           "array(",      "Array(",      "DeviceArray("};
  for (const std::string_view wrapper : wrappers) {
    if (!text.substr(at).starts_with(wrapper)) continue;
    at += wrapper.size();
    const std::string_view list = text.substr(at);
    const bool is_of_one = list.starts_with("[") && list.substr(0, list.find(']')).find(',') == list.npos;
    return is_of_one ? std::min(text.find_first_not_of('[', at), text.size()) : at;
  }
  return at;
}

/// "2^16", "2**16", of which `base` is read; of other bases nothing.
std::optional<Number> raised(std::string_view text, const Number& base) {
  const std::string_view behind = text.substr(base.end);
  const std::size_t sign = behind.starts_with("**") ? 2 : behind.starts_with("^") ? 1 : 0;
  if (sign == 0) return base;
  double exponent = 0;
  const char* const first = behind.data() + sign;
  const auto [end, error] = read_double(first, behind.data() + behind.size(), exponent);
  if (error != std::errc()) return base;  // "**step 7**"
  if (base.value != 2) return {};
  return Number{std::exp2(exponent), static_cast<std::size_t>(end - text.data())};
}

std::optional<Number> number_at(std::string_view text, std::size_t at, Fact fact) {
  const std::size_t most = std::min(text.size(), at + most_skipped);
  while (at < most && is_filler(text[at])) ++at;
  at = unwrapped_at(text, at);
  double value = 0;
  const auto [end, error] = read_double(text.data() + at, text.data() + text.size(), value);
  if (error == std::errc()) {
    const Number number{value, static_cast<std::size_t>(end - text.data())};
    if (is_multiplied(text, number.end)) return {};
    if (number.end >= text.size() || text[number.end] != ',') return raised(text, number);
    return grouped(text, at, number).value_or(number);
  }
  if (error == std::errc::result_out_of_range) {  // 1e-400, 1e400
    const std::string_view digits(text.data() + at, static_cast<std::size_t>(end - text.data()) - at);
    return Number{nearest_double(digits), at + digits.size()};
  }
  return fact == Fact::overflow ? flag_at(text, at) : std::nullopt;
}

bool is_followed(std::string_view text, std::size_t at, char behind) {
  if (behind == 0) return true;
  while (at < text.size() && text[at] == ' ') ++at;
  return at < text.size() && text[at] == behind;
}

/// Whether nothing before a label is a part of its name, nor a word but for blanks: "aux loss", but not "nan loss".
bool begins_a_name(std::string_view text, std::size_t at) {
  constexpr std::string_view values[] = {"nan", "NaN", "NAN", "inf", "Inf", "None", "True", "False"};
  if (at > 0 && std::strchr("_/-.", text[at - 1]) != nullptr) return false;
  while (at > 0 && text[at - 1] == ' ') --at;
  std::size_t from = at;
  while (from > 0 && std::isalpha(static_cast<unsigned char>(text[from - 1])) != 0) --from;
  return from == at || std::ranges::find(values, text.substr(from, at - from)) != std::end(values);
}

/// Of "log2_loss_scale: 16", before a label that may lack its first letter.
bool is_of_logarithm(std::string_view before) {
  constexpr std::string_view logarithms[] = {"lg_", "log_", "log2_", "ln_", "log2 ", "log2-"};
  const auto ends = [before](std::string_view name) {
    return before.ends_with(name) ||
           (before.size() > name.size() && before.substr(0, before.size() - 1).ends_with(name));
  };
  return std::ranges::any_of(logarithms, ends);
}

/// The letters in front of a label, behind blanks and, where they may be a part of its name, what joins names.
std::string word_before(std::string_view text, std::size_t at, std::string_view joints) {
  const std::size_t last = text.substr(0, at).find_last_not_of(joints);
  const std::size_t end = last == text.npos ? 0 : last + 1;
  std::size_t from = end;
  while (from > 0 && std::isalpha(static_cast<unsigned char>(text[from - 1])) != 0) --from;
  return in_small_letters(text.substr(from, end - from));
}

/// Whether a label is that of the run's steps, and not behind a word that makes it one of other things: "accum_step",
/// "tokens/step", "accumulation step".
bool names_a_counter(const LineField& field, std::string_view text, std::size_t at) {
  constexpr std::string_view others[] = {
      "accum", "accumulation", "micro", "per",      "skipped", "warmup", "lr",      "save", "eval",   "best",    "sub",
      "inner", "decay",        "time",  "patience", "loss",    "tokens", "samples", "ms",   "images", "logging", "tok"};
  constexpr std::string_view bounds[] = {"log", "max", "total", "num"};
  if (field.may_have_prefix) return !holds(others, word_before(text, at, " _/-."));
  if (at > 0 && (is_letter_or_digit(text[at - 1]) || std::strchr("_/-.", text[at - 1]) != nullptr)) return false;
  const std::string word = word_before(text, at, " ");
  return !holds(others, word) && !holds(bounds, word);
}

/// "412ms" is a time, and "8.78" a mean.
bool is_counted(const Number& number, Fact fact, char next) {
  return !is_letter_or_digit(next) && (fact != Fact::step || whole_number(number.value));
}

/// The first place from `from` on where the label has a number behind it.
std::optional<Number> find_number(const LineField& field, std::string_view text, std::size_t from, bool is_cut) {
  for (std::size_t at = text.find(field.label, from); at != text.npos; at = text.find(field.label, at + 1)) {
    if (field.is_whole && !begins_a_name(text, at)) continue;
    if (field.is_counter && !names_a_counter(field, text, at)) continue;
    if (field.fact == Fact::printed && is_of_logarithm(text.substr(0, at))) continue;
    const auto number = number_at(text, at + field.label.size(), field.fact);
    if (!number || !is_followed(text, number->end, field.behind)) continue;
    const char next = number->end < text.size() ? text[number->end] : ' ';
    if (next == '%') continue;                                 // how much of it is done: "steps:  12%"
    if (field.is_whole && is_letter_or_digit(next)) continue;  // "scale 512x512"
    if (field.is_counter && !is_counted(*number, field.fact, next)) continue;
    if (is_cut && number->end == text.size()) return {};
    return number;
  }
  return {};
}

/// Behind the field before, or, in a line of another order, anywhere.
std::optional<Number> find_field(const LineField& field, std::string_view text, std::size_t behind, bool is_cut) {
  if (field.is_next) {
    const bool is_there = text.substr(behind).starts_with(field.label);
    const auto number = is_there ? number_at(text, behind + field.label.size(), field.fact) : std::nullopt;
    return number && is_followed(text, number->end, field.behind) ? number : std::nullopt;
  }
  const auto number = find_number(field, text, behind, is_cut);
  return number || behind == 0 ? number : find_number(field, text, 0, is_cut);
}

}  // namespace

std::optional<Facts> read_facts(const LineShape& shape, const Line& line, std::string_view text, std::size_t needle,
                                std::size_t& end) {
  Facts facts{.shape = &shape, .line = &line};
  std::size_t at = 0;
  end = needle + shape.needle.size();
  for (const LineField& field : shape.fields) {
    if (facts.has(field.fact)) continue;
    if (const auto number = find_field(field, text, at, line.is_cut)) {
      facts.set(field.fact, number->value);
      at = number->end;
      end = std::max(end, at);
    } else if (field.is_required) {
      return {};
    }
  }
  return facts;
}

}  // namespace tare
