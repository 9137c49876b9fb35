// ColossalAI's DynamicGradScaler. colossalai 0.5.0: colossalai/amp/naive_amp/grad_scaler/dynamic_grad_scaler.py.
//
//   overflow | hysteresis_step + 1 >= hysteresis | scale                          | growth_step | hysteresis_step
//   yes      | yes                               | x backoff, not below min_scale | 0           | + 1
//   yes      | no                                | same                           | 0           | + 1
//   clean, growth_step + 1 == interval           | x growth, not above max_scale  | 0           | 0
//   clean, otherwise                             | same                           | + 1         | same
//
// A float32 tensor times a Python number that is rounded to float first. Without a bound: down to 0, up to infinity.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct ColossalaiParams {
  double initial_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int64_t growth_interval = 1000;
  double min_scale = -__builtin_inf();  // -infinity: none
  double max_scale = __builtin_inf();   // infinity: none
  int64_t hysteresis = 2;
};

struct ColossalaiState {
  float scale = 65536.0f;
  int64_t growth_step = 0;
  int64_t hysteresis_step = 0;
};

TARE_HD inline ColossalaiState initial(const ColossalaiParams& params) {
  return {static_cast<float>(params.initial_scale), 0, 0};
}

TARE_HD inline Outcome<ColossalaiState> next(ColossalaiState state, const ColossalaiParams& params, bool overflow) {
  if (overflow) {
    state.hysteresis_step = wrapping_add<int64_t>(state.hysteresis_step, 1);
    state.growth_step = 0;
    if (state.hysteresis_step >= params.hysteresis) {
      const float lowered = state.scale * static_cast<float>(params.backoff_factor);
      state.scale = maximum(lowered, static_cast<float>(params.min_scale));
    }
    return {state, Raised::nothing, true};
  }
  state.growth_step = wrapping_add<int64_t>(state.growth_step, 1);
  if (state.growth_step != params.growth_interval) return {state};
  state.growth_step = 0;
  state.hysteresis_step = 0;
  state.scale = minimum(state.scale * static_cast<float>(params.growth_factor), static_cast<float>(params.max_scale));
  return {state};
}

}  // namespace tare::rule
