// apex.contrib's FP16_Optimizer. apex 25.04: apex/contrib/optimizers/fp16_optimizer.py.
//
//   dynamic_loss_scale | rule
//   true               | as apex.fp16_utils: factor 2, window 1000, the int 2**16 at the start
//   false              | the scale stays static_loss_scale, cur_iter counts; there is no last_overflow_iter
#pragma once

#include "kernels/rule/apex_fp16_utils.hpp"

namespace tare::rule {

struct ApexContribParams {
  bool dynamic_loss_scale = true;
  Number init_scale = integer_number(65536);
  Number static_loss_scale = real_number(1.0);
  Number scale_factor = integer_number(2);
  int64_t scale_window = 1000;
};

struct ApexContribState {
  Number scale = integer_number(65536);
  int64_t cur_iter = 0;
  int64_t last_overflow_iter = -1;
};

TARE_HD inline ApexContribState initial(const ApexContribParams& params) {
  return {params.dynamic_loss_scale ? params.init_scale : params.static_loss_scale, 0, -1};
}

TARE_HD inline Outcome<ApexContribState> next(ApexContribState state, const ApexContribParams& params, bool overflow) {
  if (!params.dynamic_loss_scale) {
    state.cur_iter = wrapping_add<int64_t>(state.cur_iter, 1);
    return {state, Raised::nothing, overflow};
  }
  const ApexFp16UtilsParams same{params.init_scale, params.scale_factor, params.scale_window};
  const auto outcome = next(ApexFp16UtilsState{state.scale, state.cur_iter, state.last_overflow_iter}, same, overflow);
  return {
      {outcome.state.scale, outcome.state.cur_iter, outcome.state.last_overflow_iter}, outcome.raised, outcome.skip};
}

}  // namespace tare::rule
