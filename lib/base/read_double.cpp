#include "lib/base/read_double.hpp"

#include <locale.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lib/base/letters.hpp"

namespace tare {
namespace {

constexpr std::string_view digits_of_ten = "0123456789";
constexpr std::string_view digits_of_sixteen = "0123456789abcdefABCDEF";

bool starts_with_word(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (small_letter(text[i]) != word[i]) return false;
  }
  return true;
}

std::size_t run_of(std::string_view text, std::string_view digits) {
  const std::size_t end = text.find_first_not_of(digits);
  return end == text.npos ? text.size() : end;
}

/// How long the exponent is that the text starts with; 0: it starts with none.
std::size_t exponent_size(std::string_view text, char mark) {
  if (text.empty() || small_letter(text[0]) != mark) return 0;
  const std::size_t sign = text.size() > 1 && (text[1] == '-' || text[1] == '+') ? 1 : 0;
  const std::size_t digits = run_of(text.substr(1 + sign), digits_of_ten);
  return digits == 0 ? 0 : 1 + sign + digits;
}

/// "nan", or "nan(...)" of letters, digits and underscores.
std::size_t nan_size(std::string_view text) {
  if (text.size() < 4 || text[3] != '(') return 3;
  for (std::size_t i = 4; i < text.size(); ++i) {
    if (text[i] == ')') return i + 1;
    const char c = small_letter(text[i]);
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_') break;
  }
  return 3;
}

struct Shape {
  std::size_t size = 0;  ///< of the number that the text starts with, its sign aside
  bool is_zero = false;
};

Shape shape_of(std::string_view text, bool is_hex) {
  if (starts_with_word(text, "infinity")) return {8};
  if (starts_with_word(text, "inf")) return {3};
  if (starts_with_word(text, "nan")) return {nan_size(text)};
  const std::string_view digits = is_hex ? digits_of_sixteen : digits_of_ten;
  const std::size_t whole = run_of(text, digits);
  const bool has_point = whole < text.size() && text[whole] == '.';
  const std::size_t part = has_point ? run_of(text.substr(whole + 1), digits) : 0;
  if (whole + part == 0) return {};
  const std::size_t mantissa = whole + (has_point ? 1 : 0) + part;
  return {mantissa + exponent_size(text.substr(mantissa), is_hex ? 'p' : 'e'),
          text.substr(0, mantissa).find_first_not_of("0.") == text.npos};
}

/// Whatever locale the program has set.
double by_strtod(const std::string& number) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(number.c_str(), nullptr, plain);
}

}  // namespace

double nearest_double(std::string_view number) {
  return by_strtod(std::string(number));
}

std::from_chars_result double_by_strtod(const char* begin, const char* end, double& value, std::chars_format format) {
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  const bool is_negative = text.starts_with('-');
  const bool is_hex = format == std::chars_format::hex;
  const Shape shape = shape_of(text.substr(is_negative ? 1 : 0), is_hex);
  if (shape.size == 0) return {begin, std::errc::invalid_argument};
  const std::string number(text.substr(is_negative ? 1 : 0, shape.size));
  const bool is_word = small_letter(number[0]) == 'i' || small_letter(number[0]) == 'n';
  const double read = by_strtod(is_hex && !is_word ? "0x" + number : number);
  const char* behind = begin + (is_negative ? 1 : 0) + shape.size;
  if (!is_word && (std::isinf(read) || (read == 0 && !shape.is_zero))) return {behind, std::errc::result_out_of_range};
  value = is_negative ? -read : read;
  return {behind, std::errc()};
}

}  // namespace tare
