// OneFlow's dynamic loss scale in a graph. oneflow 25c8978:
// oneflow/user/kernels/dynamic_loss_scale_schedule_kernel.cpp; its variables are placed on the CPU
// (oneflow/core/job_rewriter/dynamic_loss_scale_schedule_pass.cpp).
//
//   not finite | good_step_counter + 1 >= increment_period | loss_scale                     | good_step_counter
//   no         | yes                                       | x multiplier, FLT_MAX at most  | 0
//   no         | no                                        | same                           | + 1
//   yes        | -                                         | / multiplier, 1 at least       | 0
//
// Products and quotients are formed in double, bounded there and rounded once to float; the multiplier is a float.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct OneflowParams {
  double init_scale = 65536.0;
  double growth_factor = 2.0;  // "multiplier"; the constructor takes no backoff_factor but its inverse
  int64_t growth_interval = 2000;

  TARE_HD double multiplier() const { return static_cast<float>(growth_factor); }
};

struct OneflowState {
  float scale = 65536.0f;
  int64_t good_step_counter = 0;
};

TARE_HD inline OneflowState initial(const OneflowParams& params) {
  return {static_cast<float>(params.init_scale), 0};
}

TARE_HD inline Outcome<OneflowState> next(OneflowState state, const OneflowParams& params, bool overflow) {
  const double scale = state.scale;
  if (overflow) {
    state.good_step_counter = 0;
    const double lowered = scale / params.multiplier();
    state.scale = static_cast<float>(lowered < 1.0 ? 1.0 : lowered);
    return {state, Raised::nothing, true};
  }
  state.good_step_counter = wrapping_add<int64_t>(state.good_step_counter, 1);
  if (state.good_step_counter < params.growth_interval) return {state};
  const double grown = scale * params.multiplier();
  constexpr double largest = FLT_MAX;
  state.scale = static_cast<float>(largest < grown ? largest : grown);
  state.good_step_counter = 0;
  return {state};
}

}  // namespace tare::rule
