// What a number must be to pass for a loss scale where the name beside it may be of anything.
#pragma once

#include <cmath>

namespace tare {

/// The first one: sizes of images are great, too, and seldom powers of two one and all.
inline constexpr double least_doubtful_scale = 1024;

inline bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

inline bool may_begin_as_scale(double value) {
  return is_power_of_two(value) && value >= least_doubtful_scale;
}

inline bool may_go_on_as_scale(double value) {
  return is_power_of_two(value) || value < 1 || !std::isfinite(value);
}

}  // namespace tare
