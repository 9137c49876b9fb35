// torch.amp.GradScaler and the kernel under it. torch 2.15.0: torch/amp/grad_scaler.py,
// aten/src/ATen/native/cpu/AmpGradScalerKernels.cpp, aten/src/ATen/native/cuda/AmpKernels.cu.
//
//   found inf | tracker + 1 == interval | scale                                       | tracker
//   yes       | -                       | x backoff_factor                            | 0
//   no        | no                      | same                                        | + 1, wraps as an int32
//   no        | yes                     | x growth_factor, if that is finite (2.1 on) | 0
//
// Products are formed in double and rounded once to float. No floor: denormals, then 0. A tracker at or above the
// interval never meets it again before the next overflow.
#pragma once

#include <cfloat>

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct TorchParams {
  double init_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;
};

struct TorchState {
  float scale = 65536.0f;
  int32_t growth_tracker = 0;
};

TARE_HD inline TorchState initial(const TorchParams& params) {
  return {static_cast<float>(params.init_scale), 0};
}

TARE_HD inline Outcome<TorchState> next(TorchState state, const TorchParams& params, bool overflow) {
  if (overflow) {
    state.scale = static_cast<float>(static_cast<double>(state.scale) * params.backoff_factor);
    state.growth_tracker = 0;
    return {state, Raised::nothing, true};
  }
  state.growth_tracker = wrapping_add(state.growth_tracker, 1);
  if (state.growth_tracker != params.growth_interval) return {state};
  const float grown = static_cast<float>(static_cast<double>(state.scale) * params.growth_factor);
  if (is_finite(grown)) state.scale = grown;
  state.growth_tracker = 0;
  return {state};
}

/// GradScaler.update(): the found_inf of every optimizer of the step, summed as it sums them. Nan counts, -0 does not,
/// and +1 and -1 cancel. Raises when nothing was recorded.
TARE_HD inline Outcome<TorchState> next(const TorchState& state, const TorchParams& params, const float* found_inf,
                                        int64_t count) {
  if (count <= 0) return {state, Raised::no_inf_checks, true};
  float sum = found_inf[0];
  for (int64_t i = 1; i < count; ++i) sum += found_inf[i];
  return next(state, params, sum != 0.0f);
}

/// GradScaler.update(new_scale): the tracker is kept. What float32 does not reach is refused; infinity is not.
TARE_HD inline Outcome<TorchState> with_scale(TorchState state, double new_scale) {
  if (is_finite(new_scale) && (new_scale > FLT_MAX || new_scale < -FLT_MAX)) return {state, Raised::scale_too_large};
  state.scale = static_cast<float>(new_scale);
  return {state};
}

}  // namespace tare::rule
