// Numbers that were printed, or rounded to float32, on their way: compared as far as they were kept.
#pragma once

#include <algorithm>
#include <cmath>

namespace tare {

/// Apart by no more than that share of the greater one. An infinity is equal to itself alone, and NaN to nothing.
inline bool about_equal(double a, double b, double share) {
  return a == b ||
         (std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= share * std::max(std::abs(a), std::abs(b)));
}

}  // namespace tare
