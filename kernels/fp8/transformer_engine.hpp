// TransformerEngine's delayed scaling. transformer_engine 2.20.2: common/recipe/delayed_scaling.cu (fused: `kernel`;
// bulk: `kernel_bulk`, what its PyTorch modules use), pytorch/quantization.py (unfused).
//
//   amax         | fused, bulk                                  | unfused
//   finite, > 0  | fp8_max x 2^-margin / amax                   | 1 / amax x fp8_max / 2^margin
//   0, inf, NaN  | same                                         | same
//
// A scale that is infinite then, new or kept, becomes FLT_MAX; NaN stays. (torch divides a Python number by a tensor as
// a product with the reciprocal: two roundings.)
//
// "max" takes the greatest of the whole window, before it shifts; fused ones do not see a NaN in it. Bulk neither
// shifts nor looks at the window where the newest amax is 0.
#pragma once

#include <cfloat>

#include "kernels/fp8/window.hpp"

namespace tare::kernels::fp8 {

enum class TeVariant : std::int32_t { fused, bulk, unfused };

struct TransformerEngineParams {
  TeVariant variant = TeVariant::bulk;
  bool most_recent = false;
  float two_to_margin = 1;  ///< 2^margin
};

TARE_HD inline float next_scale(const TransformerEngineParams& params, float scale, float amax, float fp8_max) {
  float next = scale;
  if (is_finite(amax) && amax > 0) {
    next = params.variant == TeVariant::unfused ? 1.0f / amax * fp8_max / params.two_to_margin
                                                : fp8_max * (1.0f / params.two_to_margin) / amax;
  }
  return is_finite(next) || is_nan(next) ? next : FLT_MAX;
}

}  // namespace tare::kernels::fp8
