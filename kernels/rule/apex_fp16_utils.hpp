// The DynamicLossScaler of apex.fp16_utils, ancestor of many. apex 25.04: apex/fp16_utils/loss_scaler.py.
//
//   overflow | (cur_iter - last) mod window | cur_scale              | last_overflow_iter | cur_iter
//   yes      | -                            | / scale_factor, floor 1 | cur_iter           | + 1
//   no       | 0                            | x scale_factor          | same               | + 1
//   no       | other                        | same                    | same               | + 1
//
// Python numbers: an int scale stays one while an int factor makes it grow, and the floor is the int 1. No ceiling.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/number.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct ApexFp16UtilsParams {
  Number init_scale = integer_number(4294967296);
  Number scale_factor = real_number(2.0);
  int64_t scale_window = 1000;
};

struct ApexFp16UtilsState {
  Number scale = integer_number(4294967296);
  int64_t cur_iter = 0;
  int64_t last_overflow_iter = -1;
};

TARE_HD inline ApexFp16UtilsState initial(const ApexFp16UtilsParams& params) {
  return {params.init_scale, 0, -1};
}

TARE_HD inline Outcome<ApexFp16UtilsState> next(ApexFp16UtilsState state, const ApexFp16UtilsParams& params,
                                                bool overflow) {
  if (overflow) {
    if (value_of(params.scale_factor) == 0.0) return {state, Raised::division_by_zero, true};
    state.scale = python_max(divide(state.scale, params.scale_factor), integer_number(1));
    state.last_overflow_iter = state.cur_iter;
  } else {
    if (params.scale_window == 0) return {state, Raised::division_by_zero, true};
    const int64_t clean = wrapping_subtract(state.cur_iter, state.last_overflow_iter);
    if (floor_modulo(clean, params.scale_window) == 0) state.scale = multiply(state.scale, params.scale_factor);
  }
  state.cur_iter = wrapping_add<int64_t>(state.cur_iter, 1);
  return {state, Raised::nothing, overflow};
}

}  // namespace tare::rule
