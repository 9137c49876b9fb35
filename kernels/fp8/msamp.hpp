// MS-AMP's scaling. MS-AMP 0.4.0 (9746ea8): common/tensor/meta.py compute_scaling_factor and reset_scaling_factor,
// optim/optimizer.py.
//
//   amax    | scale
//   > 0     | 2^e, e = floor(log2(fp8_max / amax)) - margin
//   0, NaN  | same
//   inf     | 1 / scale: "not finite: keep" is followed by "exponent below zero: take the reciprocal"
//
// The logarithm is a float's, so that quotients just below a power of two count as that power. In a step a newest amax
// that is not finite counts as 0, and the step counter starts again. bf16 and f32 are not scaled: 1, whatever the amax
// is (since 0.4.0: before, their scale was made as that of other types, and overflowed to infinity).
#pragma once

#include <cmath>

#include "kernels/fp8/window.hpp"

namespace tare::kernels::fp8 {

inline constexpr float largest_f16 = 65504;

struct MsampParams {
  float margin = 0;
};

TARE_HD inline float next_scale(const MsampParams& params, float scale, float amax, float fp8_max) {
  if (fp8_max > largest_f16) return 1;
  if (is_nan(amax) || amax == 0) return scale;
  if (!is_finite(amax)) return 1.0f / scale;
  const float logarithm = static_cast<float>(log2(static_cast<double>(fp8_max / amax)));
  const float exponent = floorf(logarithm) - params.margin;
  const float magnitude = exponent < 0 ? -exponent : exponent;
  const float power = magnitude > 127 ? __builtin_inff()
                                      : float_from(static_cast<std::uint32_t>(static_cast<int>(magnitude) + 127) << 23);
  return exponent < 0 ? 1.0f / power : power;
}

}  // namespace tare::kernels::fp8
