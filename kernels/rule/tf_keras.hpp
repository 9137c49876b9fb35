// tf-keras' (TF 2's) dynamic loss scale. tf_keras 2.21.0: tf_keras/mixed_precision/loss_scale_optimizer.py.
//
//   overflow | good_steps + 1 >= growth_steps | current_loss_scale                       | good_steps
//   yes      | -                              | max(x (1 / multiplier), 1)               | 0
//   no       | yes                            | x multiplier, kept if that is not finite | 0
//   no       | no                             | same                                     | + 1
//
// The source says scale / multiplier; what TensorFlow computes is the product with the rounded reciprocal.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct TfKerasParams {
  double initial_loss_scale = 32768.0;
  int64_t growth_steps = 2000;
  double multiplier = 2.0;
};

struct TfKerasState {
  float scale = 32768.0f;
  int64_t good_steps = 0;
};

TARE_HD inline TfKerasState initial(const TfKerasParams& params) {
  return {static_cast<float>(params.initial_loss_scale), 0};
}

TARE_HD inline Outcome<TfKerasState> next(TfKerasState state, const TfKerasParams& params, bool overflow) {
  const float multiplier = static_cast<float>(params.multiplier);
  if (overflow) {
    state.scale = maximum(state.scale * (1.0f / multiplier), 1.0f);
    state.good_steps = 0;
    return {state, Raised::nothing, true};
  }
  state.good_steps = wrapping_add<int64_t>(state.good_steps, 1);
  if (state.good_steps < params.growth_steps) return {state};
  const float grown = state.scale * multiplier;
  if (is_finite(grown)) state.scale = grown;
  state.good_steps = 0;
  return {state};
}

}  // namespace tare::rule
