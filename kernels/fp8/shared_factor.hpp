// What a tensor's gradients are multiplied by on all ranks before they become fp8 and are summed, and their sums
// afterwards: for host and device.
#pragma once

#include "kernels/fp8/fp8_lm.hpp"

namespace tare::kernels::fp8 {

struct SharedFactor {
  float up;
  float down;
  bool is_finite;
};

inline constexpr double least_shared_factor = 0x1p-126;
inline constexpr double most_shared_factor = 0x1p126;

/// `amax`: the bits of all ranks' greatest magnitude; `summands`: what a sum is divided by, the number of ranks for a
/// mean.
TARE_HD inline SharedFactor shared_factor(std::uint32_t amax, float largest, double mu, double summands) {
  constexpr std::uint32_t infinite = 0x7f800000u;
  const bool finite = amax < infinite;
  float up = 1.0f;
  if (finite && amax > 0) {
    const double wanted = static_cast<double>(largest) / static_cast<double>(float_from(amax)) * mu;
    const double held = wanted < least_shared_factor ? least_shared_factor : wanted;
    up = static_cast<float>(held > most_shared_factor ? most_shared_factor : held);
  }
  return {up, static_cast<float>(1 / (static_cast<double>(up) * summands)), finite};
}

}  // namespace tare::kernels::fp8
