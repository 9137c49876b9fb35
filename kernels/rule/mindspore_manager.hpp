// MindSpore's host-side DynamicLossScaleManager. mindspore 2.10.0: mindspore/amp/loss_scale_manager.py.
//
//   overflow | (cur - last) mod window | loss_scale                | last | bad_step
//   yes      | -                       | max(x (1 / factor), 1)    | cur  | + 1
//   no       | 0                       | x factor                  | same | 0
//   no       | other                   | same                      | same | 0
//
// Python doubles. More than bad_step_max overflows in a row raise, before cur_iter moves; else cur_iter + 1.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct MindsporeManagerParams {
  double init_loss_scale = 16777216.0;
  double scale_factor = 2.0;
  int64_t scale_window = 2000;
  int64_t bad_step_max = 1000;
};

struct MindsporeManagerState {
  double scale = 16777216.0;
  int64_t cur_iter = 1;
  int64_t last_overflow_iter = 0;
  int64_t bad_step = 0;
};

TARE_HD inline MindsporeManagerState initial(const MindsporeManagerParams& params) {
  return {params.init_loss_scale, 1, 0, 0};
}

TARE_HD inline Outcome<MindsporeManagerState> next(MindsporeManagerState state, const MindsporeManagerParams& params,
                                                   bool overflow) {
  if (overflow) {
    state.scale = python_max(state.scale * (1.0 / params.scale_factor), 1.0);
    state.last_overflow_iter = state.cur_iter;
    state.bad_step = wrapping_add<int64_t>(state.bad_step, 1);
  } else {
    state.bad_step = 0;
    if (params.scale_window == 0) return {state, Raised::division_by_zero, true};
    const int64_t clean = wrapping_subtract(state.cur_iter, state.last_overflow_iter);
    if (floor_modulo(clean, params.scale_window) == 0) state.scale *= params.scale_factor;
  }
  if (state.bad_step > params.bad_step_max) return {state, Raised::too_many_overflows, true};
  state.cur_iter = wrapping_add<int64_t>(state.cur_iter, 1);
  return {state, Raised::nothing, overflow};
}

}  // namespace tare::rule
