// Keras 3's LossScaleOptimizer. keras 3.15.1 on tensorflow 2.21.0: keras/src/optimizers/loss_scale_optimizer.py.
//
//   overflow | step_counter == steps - 1 | dynamic_scale              | step_counter
//   yes      | -                         | x 0.5, no floor            | 0
//   no       | yes                       | x 2, to infinity if so     | 0
//   no       | no                        | same                       | + 1
//
// TensorFlow on the CPU flushes denormals, so below the smallest normal float the scale is 0.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct KerasParams {
  double initial_scale = 32768.0;
  int64_t dynamic_growth_steps = 2000;
};

struct KerasState {
  float scale = 32768.0f;
  int64_t step_counter = 0;
};

TARE_HD inline KerasState initial(const KerasParams& params) {
  return {static_cast<float>(params.initial_scale), 0};
}

TARE_HD inline Outcome<KerasState> next(KerasState state, const KerasParams& params, bool overflow) {
  if (overflow) {
    state.scale = flushed(flushed(state.scale) * 0.5f);
    state.step_counter = 0;
  } else if (state.step_counter == wrapping_add<int64_t>(params.dynamic_growth_steps, -1)) {
    state.scale = flushed(state.scale) * 2.0f;
    state.step_counter = 0;
  } else {
    state.step_counter = wrapping_add<int64_t>(state.step_counter, 1);
  }
  return {state, Raised::nothing, overflow};
}

}  // namespace tare::rule
