// Integers that are given as doubles, as JSON, logs and tensors give them.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace tare {

/// Nothing where `value` has a fraction, is not finite, or is beyond what a double tells from its neighbours: to
/// convert such a one is undefined, and differs between processors.
inline std::optional<std::int64_t> whole_number(double value) {
  constexpr double most = 0x1p53;
  if (!(std::fabs(value) <= most) || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace tare
