// MindSpore's DynamicLossScaleUpdateCell (the fixed cell is `constant`). mindspore 2.10.0: nn/wrap/loss_scale.py.
//
//   overflow | window <= cur - last | scale                           | last
//   yes      | any                  | max(x (1 / factor), 1)          | cur
//   no       | yes                  | x factor, to infinity if so     | cur
//   no       | no                   | same                            | same
//
// float32 and int32 tensors; the reciprocal of the factor is rounded to float before the product. cur + 1 always.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct MindsporeParams {
  double loss_scale_value = 16777216.0;
  double scale_factor = 2.0;
  int32_t scale_window = 2000;
};

struct MindsporeState {
  float scale = 16777216.0f;
  int32_t current_iterator_step = 1;
  int32_t last_overflow_iterator_step = 0;
};

TARE_HD inline MindsporeState initial(const MindsporeParams& params) {
  return {static_cast<float>(params.loss_scale_value), 1, 0};
}

/// One update with a window of its own; true in `grew` when the scale grew (mindformers counts that).
TARE_HD inline MindsporeState mindspore_step(MindsporeState state, float factor, int32_t window, bool overflow,
                                             bool* grew) {
  const int32_t clean = wrapping_subtract(state.current_iterator_step, state.last_overflow_iterator_step);
  const bool due = window <= clean;
  *grew = due && !overflow;
  if (overflow) state.scale = maximum(state.scale * (1.0f / factor), 1.0f);
  if (*grew) state.scale *= factor;
  if (overflow || due) state.last_overflow_iterator_step = state.current_iterator_step;
  state.current_iterator_step = wrapping_add(state.current_iterator_step, 1);
  return state;
}

TARE_HD inline Outcome<MindsporeState> next(const MindsporeState& state, const MindsporeParams& params, bool overflow) {
  bool grew = false;
  const float factor = static_cast<float>(params.scale_factor);
  return {mindspore_step(state, factor, params.scale_window, overflow, &grew), Raised::nothing, overflow};
}

}  // namespace tare::rule
