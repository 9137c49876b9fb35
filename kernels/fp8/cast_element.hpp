// One element to fp8 and back, the same on host and device.
#pragma once

#include "kernels/element.hpp"

namespace tare::kernels::fp8 {

/// How a slot's values become fp8.
struct Factor {
  float factor;
  bool divides;   ///< by the factor; otherwise values are multiplied by it
  float largest;  ///< of the format: what reaches it is counted
};

TARE_HD inline float scaled(float value, const Factor& by) {
  return by.divides ? cuda::quotient(value, by.factor) : cuda::product(value, by.factor);
}

/// Whether a scaled value is as large as the format goes, or larger, or no number.
TARE_HD inline bool reaches(float scaled, float largest) {
  return (bits_of(scaled) & 0x7fffffffu) >= bits_of(largest);
}

}  // namespace tare::kernels::fp8
