// TransformerEngine's current scaling: a scale from this amax alone. transformer_engine 2.20.2:
// common/recipe/recipe_common.cuh, compute_scale_from_amax.
//
//   amax        | scale
//   inf, NaN, 0 | 1
//   else        | fp8_max / max(amax, epsilon), at most FLT_MAX; with power_of_two the power below
#pragma once

#include <cfloat>

#include "kernels/fp8/window.hpp"

namespace tare::kernels::fp8 {

struct CurrentParams {
  bool power_of_two = false;
  float epsilon = 0;
  float instead_of_infinity = FLT_MAX;
};

TARE_HD inline float current_scale(const CurrentParams& params, float amax, float fp8_max) {
  if (amax < params.epsilon) amax = params.epsilon;
  if (!is_finite(amax) || amax == 0) return 1;
  float scale = fp8_max / amax;
  if (!is_finite(scale)) scale = params.instead_of_infinity;
  return params.power_of_two ? float_from(bits_of(scale) & 0xff800000u) : scale;
}

}  // namespace tare::kernels::fp8
