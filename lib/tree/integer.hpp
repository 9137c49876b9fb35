// A Python int: any size. What fits in 64 bits is a number, the rest is kept as decimal text.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/read_double.hpp"

namespace tare {

struct Integer {
  std::int64_t value = 0;
  std::string decimal;  ///< set only beyond int64; then `value` means nothing

  [[nodiscard]] bool is_big() const { return !decimal.empty(); }
  [[nodiscard]] std::string text() const { return is_big() ? decimal : std::to_string(value); }
  /// The nearest double; an infinity beyond the largest.
  [[nodiscard]] double as_double() const { return is_big() ? nearest_double(decimal) : static_cast<double>(value); }
  friend bool operator==(const Integer&, const Integer&) = default;
};

}  // namespace tare
