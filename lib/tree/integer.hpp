// A Python int: any size. What fits in 64 bits is a number, the rest is kept as decimal text.
#pragma once

#include <cstdint>
#include <string>

namespace tare {

struct Integer {
  std::int64_t value = 0;
  std::string decimal;  ///< set only beyond int64; then `value` means nothing

  [[nodiscard]] bool is_big() const { return !decimal.empty(); }
  [[nodiscard]] std::string text() const { return is_big() ? decimal : std::to_string(value); }
  /// The nearest double.
  [[nodiscard]] double as_double() const { return is_big() ? std::stod(decimal) : static_cast<double>(value); }
  friend bool operator==(const Integer&, const Integer&) = default;
};

}  // namespace tare
