// Paddle's dygraph GradScaler. paddlepaddle 3.3.1: python/paddle/amp/grad_scaler.py.
//
//   overflow | decr_count + 1 == n | incr_count + 1 == m | scale                         | incr_count | decr_count
//   yes      | yes                 | -                   | x decr_ratio, no floor        | 0          | 0
//   yes      | no                  | -                   | same                          | 0          | + 1
//   no       | -                   | yes                 | x incr_ratio, to infinity too | 0          | 0
//   no       | -                   | no                  | same                          | + 1        | 0
//
// The ratios are rounded to float before the product. A fixed scale (use_dynamic_loss_scaling off) counts nothing.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct PaddleParams {
  double init_loss_scaling = 65536.0;
  double incr_ratio = 2.0;
  double decr_ratio = 0.5;
  int64_t incr_every_n_steps = 2000;
  int64_t decr_every_n_nan_or_inf = 1;
  bool use_dynamic_loss_scaling = true;
};

struct PaddleState {
  float scale = 65536.0f;
  int64_t incr_count = 0;
  int64_t decr_count = 0;
};

TARE_HD inline PaddleState initial(const PaddleParams& params) {
  return {static_cast<float>(params.init_loss_scaling), 0, 0};
}

TARE_HD inline Outcome<PaddleState> next(PaddleState state, const PaddleParams& params, bool overflow) {
  if (!params.use_dynamic_loss_scaling) return {state, Raised::nothing, overflow};
  if (overflow) {
    state.incr_count = 0;
    state.decr_count = wrapping_add<int64_t>(state.decr_count, 1);
    if (state.decr_count == params.decr_every_n_nan_or_inf) {
      state.scale *= static_cast<float>(params.decr_ratio);
      state.decr_count = 0;
    }
    return {state, Raised::nothing, true};
  }
  state.decr_count = 0;
  state.incr_count = wrapping_add<int64_t>(state.incr_count, 1);
  if (state.incr_count == params.incr_every_n_steps) {
    state.scale *= static_cast<float>(params.incr_ratio);
    state.incr_count = 0;
  }
  return {state};
}

}  // namespace tare::rule
