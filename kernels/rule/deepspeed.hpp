// DeepSpeed's three loss scalers. deepspeed 0.19.8: deepspeed/runtime/fp16/loss_scaler.py (zero, static),
// fused_optimizer.py and unfused_optimizer.py (wrappers).
//
//   s = cur_iter - last_overflow_iter - 1; a clean step grows when s > 0 and s mod window == 0: so the first growth
//   after the start or an overflow takes window + 1 clean steps, the next ones window (the same in all variants).
//
//   zero: overflow | delayed_shift or cur_hysteresis is 1 | cur_scale                          | cur_hysteresis
//         yes      | yes, cur_scale == min_scale          | raises, nothing changes (or, with raise_error off, below)
//         yes      | yes                                  | max(cur_scale / factor, min_scale) | same
//         yes      | no                                   | same                               | - 1
//         no       | -                                    | x factor at growth                 | filled at growth
//   With consecutive_hysteresis every clean step fills it.
//   fused, unfused: no hysteresis, no error: max(cur_scale / factor, min_scale). Not dynamic: only cur_iter counts.
//   static: nothing changes.
//
// Python numbers: cur_scale is an int until its first change, and becomes min_scale's own int at the minimum.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/number.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct DeepspeedZeroParams {
  Number init_scale = integer_number(65536);
  int64_t scale_window = 1000;
  Number min_scale = integer_number(1);
  int64_t delayed_shift = 2;
  bool consecutive_hysteresis = false;
  bool raise_error_at_min_scale = true;
  Number scale_factor = real_number(2.0);
};

struct DeepspeedZeroState {
  Number scale = integer_number(65536);
  int64_t cur_iter = 0;
  int64_t last_overflow_iter = -1;
  int64_t cur_hysteresis = 2;
};

struct DeepspeedWrapperParams {
  bool dynamic_loss_scale = true;
  Number scale_factor = real_number(2.0);
  Number init_scale = integer_number(65536);
  int64_t scale_window = 1000;
  Number min_scale = integer_number(1);
  Number loss_scale = real_number(1.0);  // where the scale is not dynamic
};

struct DeepspeedWrapperState {
  Number scale = integer_number(65536);
  int64_t cur_iter = 0;
  int64_t last_overflow_iter = -1;
};

struct DeepspeedStaticParams {
  Number scale = real_number(1.0);
};

struct DeepspeedStaticState {
  Number scale = real_number(1.0);
};

TARE_HD inline DeepspeedZeroState initial(const DeepspeedZeroParams& params) {
  return {params.init_scale, 0, -1, params.delayed_shift};
}

TARE_HD inline DeepspeedWrapperState initial(const DeepspeedWrapperParams& params) {
  return {params.dynamic_loss_scale ? params.init_scale : params.loss_scale, 0, -1};
}

TARE_HD inline DeepspeedStaticState initial(const DeepspeedStaticParams& params) {
  return {params.scale};
}

/// Whether this clean step grows the scale. REQUIRES: window != 0.
TARE_HD inline bool deepspeed_grows(int64_t cur_iter, int64_t last_overflow_iter, int64_t window) {
  const int64_t stable = wrapping_add<int64_t>(wrapping_subtract(cur_iter, last_overflow_iter), -1);
  return stable > 0 && floor_modulo(stable, window) == 0;
}

TARE_HD inline Outcome<DeepspeedZeroState> next(DeepspeedZeroState state, const DeepspeedZeroParams& params,
                                                bool overflow) {
  if (overflow) {
    if (params.delayed_shift == 1 || state.cur_hysteresis == 1) {
      if (params.raise_error_at_min_scale && value_of(state.scale) == value_of(params.min_scale)) {
        return {state, Raised::scale_at_minimum, true};
      }
      if (value_of(params.scale_factor) == 0.0) return {state, Raised::division_by_zero, true};
      state.scale = python_max(divide(state.scale, params.scale_factor), params.min_scale);
    } else {
      state.cur_hysteresis = wrapping_add<int64_t>(state.cur_hysteresis, -1);
    }
    state.last_overflow_iter = state.cur_iter;
  } else {
    if (params.consecutive_hysteresis) state.cur_hysteresis = params.delayed_shift;
    if (params.scale_window == 0) return {state, Raised::division_by_zero, true};
    if (deepspeed_grows(state.cur_iter, state.last_overflow_iter, params.scale_window)) {
      state.cur_hysteresis = params.delayed_shift;
      state.scale = multiply(state.scale, params.scale_factor);
    }
  }
  state.cur_iter = wrapping_add<int64_t>(state.cur_iter, 1);
  return {state, Raised::nothing, overflow};
}

TARE_HD inline Outcome<DeepspeedWrapperState> next(DeepspeedWrapperState state, const DeepspeedWrapperParams& params,
                                                   bool overflow) {
  if (params.dynamic_loss_scale && overflow) {
    if (value_of(params.scale_factor) == 0.0) return {state, Raised::division_by_zero, true};
    state.scale = python_max(divide(state.scale, params.scale_factor), params.min_scale);
    state.last_overflow_iter = state.cur_iter;
  } else if (params.dynamic_loss_scale) {
    if (params.scale_window == 0) return {state, Raised::division_by_zero, true};
    if (deepspeed_grows(state.cur_iter, state.last_overflow_iter, params.scale_window)) {
      state.scale = multiply(state.scale, params.scale_factor);
    }
  }
  state.cur_iter = wrapping_add<int64_t>(state.cur_iter, 1);
  return {state, Raised::nothing, overflow};
}

TARE_HD inline Outcome<DeepspeedStaticState> next(const DeepspeedStaticState& state, const DeepspeedStaticParams&,
                                                  bool overflow) {
  return {state, Raised::nothing, overflow};
}

}  // namespace tare::rule
