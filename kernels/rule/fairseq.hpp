// fairseq's DynamicLossScaler: check_overflow(norm), then update(). fairseq 0.12.2:
// fairseq/optim/dynamic_loss_scaler.py.
//
//   step                                          | loss_scale                          | last_rescale | overflows
//   overflow, overflows / (iter - rescale) >= tol | / factor, not below threshold       | iter         | 0
//   overflow, below the tolerance                 | same                                | same         | + 1
//   clean, (iter - last_overflow) mod window == 0 | x factor, to infinity if so         | iter         | same
//   clean, otherwise                              | same                                | same         | same
//
// An overflow that leaves the scale at or below min_loss_scale puts the old scale back and raises with the other fields
// changed and iter not moved; the next overflow then divides by zero. Python doubles.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct FairseqParams {
  double init_scale = 32768.0;
  double scale_factor = 2.0;
  int64_t scale_window = 2000;
  double tolerance = 0.0;
  double threshold = -__builtin_inf();  // -infinity: none
  double min_loss_scale = 1e-4;
};

struct FairseqState {
  double scale = 32768.0;
  int64_t iter = 0;
  int64_t last_overflow_iter = -1;
  int64_t last_rescale_iter = -1;
  int64_t overflows_since_rescale = 0;
};

TARE_HD inline FairseqState initial(const FairseqParams& params) {
  return {params.init_scale, 0, -1, -1, 0};
}

TARE_HD inline Outcome<FairseqState> fairseq_overflow(FairseqState state, const FairseqParams& params) {
  const double before = state.scale;
  const int64_t since_rescale = wrapping_subtract(state.iter, state.last_rescale_iter);
  state.last_overflow_iter = state.iter;
  state.overflows_since_rescale = wrapping_add<int64_t>(state.overflows_since_rescale, 1);
  if (since_rescale == 0) return {state, Raised::division_by_zero, true};
  const double share = static_cast<double>(state.overflows_since_rescale) / static_cast<double>(since_rescale);
  if (share >= params.tolerance) {
    if (params.scale_factor == 0.0) return {state, Raised::division_by_zero, true};
    state.scale = python_max(state.scale / params.scale_factor, params.threshold);
    state.last_rescale_iter = state.iter;
    state.overflows_since_rescale = 0;
  }
  if (state.scale <= params.min_loss_scale) {
    state.scale = before;
    return {state, Raised::minimum_reached, true};
  }
  state.iter = wrapping_add<int64_t>(state.iter, 1);
  return {state, Raised::nothing, true};
}

TARE_HD inline Outcome<FairseqState> next(FairseqState state, const FairseqParams& params, bool overflow) {
  if (overflow) return fairseq_overflow(state, params);
  if (params.scale_window == 0) return {state, Raised::division_by_zero, true};
  const int64_t clean = wrapping_subtract(state.iter, state.last_overflow_iter);
  if (floor_modulo(clean, params.scale_window) == 0) {
    state.scale *= params.scale_factor;
    state.last_rescale_iter = state.iter;
  }
  state.iter = wrapping_add<int64_t>(state.iter, 1);
  return {state};
}

}  // namespace tare::rule
