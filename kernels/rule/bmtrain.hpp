// BMTrain's OptimManager. bmtrain 1.0.1: bmtrain/optim/optim_manager.py, step() and _justify_scale().
//
//   overflow                                               | loss_scale   | steps_since_last_scale
//   yes, above min_loss_scale                              | / factor     | 0
//   yes, otherwise                                         | same         | same
//   clean, steps + 1 >= window and below max_loss_scale    | x factor     | 0
//   clean, otherwise                                       | same         | + 1
//   (loss_scale_enabled is false)                          | same, and no step is skipped | same
//
// The bounds are gates: the scale may end below the one and above the other. Python numbers: an int scale stays one
// while an int factor makes it grow. A factor of at most 1 is turned over.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/number.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct BmtrainParams {
  Number loss_scale = integer_number(1048576);  // None there, which is off; what its example/train.py starts with
  bool loss_scale_enabled = true;
  Number loss_scale_factor = integer_number(2);
  int64_t loss_scale_steps = 1024;
  double min_loss_scale = 1.0;
  double max_loss_scale = __builtin_inf();

  TARE_HD Number factor() const {
    return value_of(loss_scale_factor) > 1.0 ? loss_scale_factor : divide(integer_number(1), loss_scale_factor);
  }
};

struct BmtrainState {
  Number scale = integer_number(1048576);
  int64_t steps_since_last_scale = 0;
};

TARE_HD inline BmtrainState initial(const BmtrainParams& params) {
  return {params.loss_scale, 0};
}

TARE_HD inline Outcome<BmtrainState> next(BmtrainState state, const BmtrainParams& params, bool overflow) {
  if (!params.loss_scale_enabled) return {state};
  if (overflow) {
    if (value_of(state.scale) > params.min_loss_scale) state = {divide(state.scale, params.factor()), 0};
    return {state, Raised::nothing, true};
  }
  state.steps_since_last_scale = wrapping_add<int64_t>(state.steps_since_last_scale, 1);
  const bool grows =
      state.steps_since_last_scale >= params.loss_scale_steps && value_of(state.scale) < params.max_loss_scale;
  if (grows) state = {multiply(state.scale, params.factor()), 0};
  return {state};
}

}  // namespace tare::rule
