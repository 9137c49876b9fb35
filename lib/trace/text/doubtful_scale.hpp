// What a number must be to pass for a loss scale where the name beside it may be of anything, or its digits are few.
#pragma once

#include <cmath>

namespace tare {

/// The first one: sizes of images are great, too, and seldom powers of two one and all.
inline constexpr double least_doubtful_scale = 1024;

inline bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

/// The power of two that so many digits were printed of; others as they are. 0: of one that is not rounded.
inline double of_digits(int digits, double printed) {
  if (digits == 0) return printed;
  const double most_off = 5 * std::pow(10, -digits);
  const double power = std::exp2(std::round(std::log2(printed)));
  return printed > 0 && std::abs(power / printed - 1) <= most_off ? power : printed;
}

inline bool may_begin_as_scale(double value) {
  return is_power_of_two(value) && value >= least_doubtful_scale;
}

inline bool may_go_on_as_scale(double value) {
  return is_power_of_two(value) || value < 1 || !std::isfinite(value);
}

}  // namespace tare
