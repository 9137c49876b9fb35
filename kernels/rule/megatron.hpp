// Megatron-core's DynamicGradScaler. megatron-core 0.19.2: megatron/core/optimizer/grad_scaler.py.
//
//   overflow | hysteresis after -1 | growth + 1 == interval | scale                       | growth | hysteresis
//   yes      | > 0                 | -                      | same                        | 0      | - 1
//   yes      | <= 0                | -                      | max(x backoff, min_scale)   | 0      | - 1, below 0 too
//   no       | -                   | yes                    | x growth, to infinity if so | 0      | filled
//   no       | -                   | no                     | same                        | + 1    | same
//
// Scale, factors and minimum are float32 tensors: float products. Neither a back-off nor a clean step fills the
// hysteresis, a growth alone does, so every overflow from the H-th on backs off.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct MegatronParams {
  double initial_scale = 4294967296.0;
  double min_scale = 1.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int64_t growth_interval = 1000;
  int64_t hysteresis = 2;
};

struct MegatronState {
  float scale = 4294967296.0f;
  int64_t growth_tracker = 0;
  int64_t hysteresis_tracker = 2;
};

TARE_HD inline MegatronState initial(const MegatronParams& params) {
  return {static_cast<float>(params.initial_scale), 0, params.hysteresis};
}

TARE_HD inline Outcome<MegatronState> next(MegatronState state, const MegatronParams& params, bool overflow) {
  if (overflow) {
    state.growth_tracker = 0;
    state.hysteresis_tracker = wrapping_add<int64_t>(state.hysteresis_tracker, -1);
    if (state.hysteresis_tracker <= 0) {
      state.scale =
          maximum(state.scale * static_cast<float>(params.backoff_factor), static_cast<float>(params.min_scale));
    }
    return {state, Raised::nothing, true};
  }
  state.growth_tracker = wrapping_add<int64_t>(state.growth_tracker, 1);
  if (state.growth_tracker != params.growth_interval) return {state};
  state.growth_tracker = 0;
  state.hysteresis_tracker = params.hysteresis;
  state.scale *= static_cast<float>(params.growth_factor);
  return {state};
}

}  // namespace tare::rule
