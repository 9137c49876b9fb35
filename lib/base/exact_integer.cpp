#include "lib/base/exact_integer.hpp"

#include <algorithm>
#include <charconv>

namespace tare {
namespace {

constexpr std::size_t most_digits = 400;  // more than the largest double has

/// The number that is all of the text; nothing where it is none, or none of 32 bits.
std::optional<std::uint32_t> number_in(std::string_view text, int base = 10) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Decimal digits, the last first.
class Digits {
 public:
  explicit Digits(std::uint32_t number) { multiply(0, number); }

  /// Times `factor`, and `addend` more.
  void multiply(std::uint64_t factor, std::uint64_t addend) {
    std::uint64_t carry = addend;
    for (char& digit : digits_) {
      carry += factor * static_cast<std::uint64_t>(digit - '0');
      digit = static_cast<char>('0' + carry % 10);
      carry /= 10;
    }
    for (; carry > 0; carry /= 10) digits_ += static_cast<char>('0' + carry % 10);
  }

  [[nodiscard]] std::size_t size() const { return digits_.size(); }
  [[nodiscard]] std::string text() const {
    const std::size_t last = digits_.find_last_not_of('0');
    if (last == std::string::npos) return "0";
    return {digits_.rend() - static_cast<std::ptrdiff_t>(last) - 1, digits_.rend()};
  }

 private:
  std::string digits_;
};

std::optional<std::string> decimal(std::string_view text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (!is_number || text.size() > most_digits) return std::nullopt;
  return std::string(text.substr(std::min(text.find_first_not_of('0'), text.size() - 1)));
}

std::optional<std::string> hexadecimal(std::string_view text) {
  Digits digits(0);
  if (text.empty() || text.size() > most_digits / 2) return std::nullopt;
  for (const char& one : text) {
    const auto digit = number_in({&one, 1}, 16);
    if (!digit) return std::nullopt;
    digits.multiply(16, *digit);
  }
  return digits.text();
}

std::optional<std::string> power(std::string_view base_text, std::string_view exponent_text) {
  const auto base = number_in(base_text);
  const auto exponent = number_in(exponent_text);
  if (!base || !exponent) return std::nullopt;
  Digits digits(1);
  const std::uint32_t times = *base < 2 ? std::min<std::uint32_t>(*exponent, 1) : *exponent;
  for (std::uint32_t i = 0; i < times; ++i) {
    if (digits.size() > most_digits) return std::nullopt;
    digits.multiply(*base, 0);
  }
  return digits.text();
}

std::optional<std::string> without_sign(std::string_view text) {
  const std::size_t mark = std::min(text.find('^'), text.find("**"));
  if (mark != text.npos) return power(text.substr(0, mark), text.substr(mark + (text[mark] == '^' ? 1 : 2)));
  if (text.starts_with("0x") || text.starts_with("0X")) return hexadecimal(text.substr(2));
  return decimal(text);
}

}  // namespace

std::optional<std::string> exact_decimal(std::string_view text) {
  const bool is_signed = text.starts_with('-') || text.starts_with('+');
  const bool is_power = text.find_first_of("^*") != text.npos;
  if (is_signed && is_power) return std::nullopt;  // whose sign that is, parse_number says
  auto digits = without_sign(is_signed ? text.substr(1) : text);
  if (digits && text.starts_with('-') && *digits != "0") digits->insert(0, 1, '-');
  return digits;
}

std::optional<std::int64_t> exact_int64(std::string_view text) {
  const auto digits = exact_decimal(text);
  if (!digits) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace tare
