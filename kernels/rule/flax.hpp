// flax's DynamicScale. flax 0.12.8 on jax 0.10.2: flax/training/dynamic_scale.py.
//
//   overflow | fin_steps == interval | scale                                            | fin_steps
//   yes      | -                     | max(x backoff_factor, minimum_scale where given) | 0
//   no       | yes                   | min(x growth_factor, largest float)              | 0
//   no       | no                    | same                                             | + 1
//
// fin_steps is tested before it counts: a growth takes interval + 1 clean steps, always. Factors are rounded to float;
// XLA on the CPU flushes denormals.
#pragma once

#include <cfloat>

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct FlaxParams {
  double scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int32_t growth_interval = 2000;
  double minimum_scale = FLT_MIN;  // -infinity: none
};

struct FlaxState {
  float scale = 65536.0f;
  int32_t fin_steps = 0;
};

TARE_HD inline FlaxState initial(const FlaxParams& params) {
  return {static_cast<float>(params.scale), 0};
}

TARE_HD inline Outcome<FlaxState> next(FlaxState state, const FlaxParams& params, bool overflow) {
  if (overflow) {
    const float lowered = flushed(flushed(state.scale) * static_cast<float>(params.backoff_factor));
    state.scale = flushed(maximum(lowered, static_cast<float>(params.minimum_scale)));
    state.fin_steps = 0;
    return {state, Raised::nothing, true};
  }
  if (state.fin_steps == params.growth_interval) {
    const float grown = flushed(flushed(state.scale) * static_cast<float>(params.growth_factor));
    state.scale = minimum(grown, FLT_MAX);
    state.fin_steps = 0;
  } else {
    state.fin_steps = wrapping_add(state.fin_steps, 1);
  }
  return {state};
}

}  // namespace tare::rule
