// Magnitudes as bit patterns: an element's bits without its sign, compared as integers. The order is that of the
// magnitudes, infinity above every finite one, NaN above infinity; so one integer maximum finds both the greatest value
// and whether anything was not finite.
#pragma once

#include <cstdint>

#include "kernels/dtype.hpp"

namespace tare::kernels {

namespace detail {

TARE_HD inline double any_nan_to_one(double value) {
  return is_nan(value) ? double_from(0x7ff8000000000000u) : value;
}

}  // namespace detail

/// The magnitude that a pattern stands for, exactly; every NaN becomes the positive quiet one. 0 for an unknown dtype.
TARE_HD inline double magnitude(Dtype dtype, std::uint64_t pattern) {
  switch (dtype) {
    case Dtype::f32:
      return detail::any_nan_to_one(float_from(static_cast<std::uint32_t>(pattern)));
    case Dtype::f64:
      return detail::any_nan_to_one(double_from(pattern));
    case Dtype::f16:
      return detail::any_nan_to_one(widen<F16>(static_cast<F16::Bits>(pattern)));
    case Dtype::bf16:
      return detail::any_nan_to_one(widen<Bf16>(static_cast<Bf16::Bits>(pattern)));
    case Dtype::f8_e4m3fn:
      return detail::any_nan_to_one(widen<F8E4m3fn>(static_cast<F8E4m3fn::Bits>(pattern)));
    case Dtype::f8_e5m2:
      return detail::any_nan_to_one(widen<F8E5m2>(static_cast<F8E5m2::Bits>(pattern)));
  }
  return 0;
}

/// The lowest pattern whose magnitude is not below `threshold`, at most the first one that is not finite: a finite
/// value is below the threshold if its pattern is below this one. 0 if the threshold is NaN or not positive.
std::uint64_t pattern_of_threshold(Dtype dtype, double threshold);

}  // namespace tare::kernels
