// Paddle's update_loss_scaling operator of static graphs. paddlepaddle 3.3.1:
// paddle/phi/kernels/impl/amp_kernel_impl.h.
//
//   overflow | bad + 1 == n | good + 1 == m | loss_scaling                             | good | bad
//   yes      | yes          | -             | x decr_ratio, 1 if below                 | 0    | 0
//   yes      | no           | -             | same                                     | 0    | + 1
//   no       | -            | yes           | x incr_ratio, kept if that is not finite | 0    | 0
//   no       | -            | no            | same                                     | + 1  | 0
//
// With stop_update nothing changes at all.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct PaddleStaticParams {
  double init_loss_scaling = 32768.0;
  double incr_ratio = 2.0;
  double decr_ratio = 0.8;
  int32_t incr_every_n_steps = 1000;
  int32_t decr_every_n_nan_or_inf = 2;
  bool stop_update = false;
};

struct PaddleStaticState {
  float scale = 32768.0f;
  int32_t num_good_steps = 0;
  int32_t num_bad_steps = 0;
};

TARE_HD inline PaddleStaticState initial(const PaddleStaticParams& params) {
  return {static_cast<float>(params.init_loss_scaling), 0, 0};
}

TARE_HD inline Outcome<PaddleStaticState> next(PaddleStaticState state, const PaddleStaticParams& params,
                                               bool overflow) {
  if (params.stop_update) return {state, Raised::nothing, overflow};
  if (overflow) {
    state.num_good_steps = 0;
    state.num_bad_steps = wrapping_add(state.num_bad_steps, 1);
    if (state.num_bad_steps == params.decr_every_n_nan_or_inf) {
      const float lowered = state.scale * static_cast<float>(params.decr_ratio);
      state.scale = lowered < 1.0f ? 1.0f : lowered;
      state.num_bad_steps = 0;
    }
    return {state, Raised::nothing, true};
  }
  state.num_bad_steps = 0;
  state.num_good_steps = wrapping_add(state.num_good_steps, 1);
  if (state.num_good_steps == params.incr_every_n_steps) {
    const float grown = state.scale * static_cast<float>(params.incr_ratio);
    if (is_finite(grown)) state.scale = grown;
    state.num_good_steps = 0;
  }
  return {state};
}

}  // namespace tare::rule
