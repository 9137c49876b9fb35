// torchao's delayed scaling, as 0.4 to 0.9 shipped it, and its dynamic scaling. torchao 0.9.0: float8/float8_utils.py
// (amax_to_scale), float8_scaling_utils.py (_maybe_initialize_amaxes_scales_for_float8_cast), float8_linear_utils.py
// (sync_float8_amax_and_scale_history).
//
//   amax | scale
//   any  | fp8_max x (1 / max(amax, 1e-12))   in double (0.4 and 0.5 of delayed scaling: in float), rounded to float
//   inf  | 0
//   NaN  | NaN
//
// (torch divides a Python number by a tensor as a product with the reciprocal.) Up to 0.6 the scale of a model in
// float16 is 65504 at most.
//
// Delayed: the first cast of a process puts its amax at the newest end of the history. Every other step looks at the
// greatest of the newest amax and the history without its oldest entry, as if the one had taken the other's place: but
// it is a copy of the history that shifts, and the one that is kept stays as it was.
#pragma once

#include <cmath>

#include "kernels/fp8/window.hpp"
#include "kernels/rule/arithmetic.hpp"

namespace tare::kernels::fp8 {

struct TorchaoParams {
  bool in_float = false;
  bool fits_float16 = false;
  bool power_of_two = false;  ///< dynamic scaling's alone: rounded down
  bool initialises = true;    ///< delayed scaling's alone
};

namespace detail {

/// fp8_max over the amax, all of it in one precision.
template <class Float>
TARE_HD inline Float torchao_quotient(const TorchaoParams& params, float amax, float fp8_max) {
  constexpr auto least = static_cast<Float>(1e-12);
  constexpr Float largest_float16 = 65504;
  const Float quotient = 1 / rule::maximum(static_cast<Float>(amax), least) * static_cast<Float>(fp8_max);
  return params.fits_float16 ? rule::minimum(quotient, largest_float16) : quotient;
}

}  // namespace detail

TARE_HD inline float torchao_scale(const TorchaoParams& params, float amax, float fp8_max) {
  const float scale = params.in_float ? detail::torchao_quotient<float>(params, amax, fp8_max)
                                      : static_cast<float>(detail::torchao_quotient<double>(params, amax, fp8_max));
  if (!params.power_of_two || is_nan(scale) || scale == 0) return scale;
  const float exponent = floorf(static_cast<float>(log2(static_cast<double>(scale))));  // the logarithm is a float's
  return float_from(static_cast<std::uint32_t>(static_cast<int>(exponent) + 127) << 23);
}

}  // namespace tare::kernels::fp8
