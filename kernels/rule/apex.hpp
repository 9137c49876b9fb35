// apex.amp's LossScaler. apex 25.04: apex/amp/scaler.py.
//
//   overflow | unskipped       | scale                                     | unskipped
//   yes      | -               | / 2, not below min_loss_scale where given | 0
//   no       | + 1 == window   | x 2, not above max_loss_scale             | 0
//   no       | otherwise       | same                                      | + 1
//   (static) | -               | same, and no step is skipped              | + 1
//
// A Python double; the factor 2 is fixed (the constructor's scale_factor is ignored). Unscaling divides by the scale,
// so a step with the scale at 0 raises before anything changes.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct ApexParams {
  double loss_scale = __builtin_nan("");  // nan: "dynamic"
  double init_scale = 65536.0;
  double min_loss_scale = 0.0;  // 0: none, as in apex
  double max_loss_scale = 16777216.0;
  int64_t scale_window = 2000;
  double scale_factor = 2.0;  // taken and ignored, as apex does

  TARE_HD bool dynamic() const { return is_nan(loss_scale); }
};

struct ApexState {
  double scale = 65536.0;
  int64_t unskipped = 0;
};

TARE_HD inline ApexState initial(const ApexParams& params) {
  return {params.dynamic() ? python_min(params.max_loss_scale, params.init_scale) : params.loss_scale, 0};
}

TARE_HD inline Outcome<ApexState> next(ApexState state, const ApexParams& params, bool overflow) {
  if (state.scale == 0.0) return {state, Raised::division_by_zero, true};
  const bool skip = overflow && params.dynamic();
  if (skip) {
    state.scale /= 2.0;
    if (params.min_loss_scale != 0.0) state.scale = python_max(params.min_loss_scale, state.scale);
    state.unskipped = 0;
  } else {
    state.unskipped = wrapping_add<int64_t>(state.unskipped, 1);
  }
  if (params.dynamic() && state.unskipped == params.scale_window) {
    state.scale = python_min(params.max_loss_scale, state.scale * 2.0);
    state.unskipped = 0;
  }
  return {state, Raised::nothing, skip};
}

}  // namespace tare::rule
