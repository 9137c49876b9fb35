// apex's update_scale_hysteresis kernel. apex 25.04: csrc/update_scale_hysteresis.cu.
//
//   found inf    | hysteresis after -1 | scale          | growth tracker | hysteresis tracker
//   > 0          | > 0                 | same           | 0              | - 1
//   > 0          | <= 0                | x backoff      | 0              | - 1, below zero too
//   nan          | (not counted)       | x backoff      | 0              | same
//   < 0          | (not counted)       | x backoff      | 0              | filled
//   0            | -                   | torch's growth | torch's        | filled
#pragma once

#include "kernels/rule/torch.hpp"

namespace tare::rule {

struct ApexHysteresisParams {
  double init_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;
  int32_t hysteresis = 1;
};

struct ApexHysteresisState {
  float scale = 65536.0f;
  int32_t growth_tracker = 0;
  int32_t hysteresis_tracker = 1;
};

TARE_HD inline ApexHysteresisState initial(const ApexHysteresisParams& params) {
  return {static_cast<float>(params.init_scale), 0, params.hysteresis};
}

TARE_HD inline Outcome<ApexHysteresisState> next(ApexHysteresisState state, const ApexHysteresisParams& params,
                                                 float found_inf) {
  if (found_inf > 0.0f) {
    state.hysteresis_tracker = wrapping_add(state.hysteresis_tracker, -1);
    if (state.hysteresis_tracker > 0) {
      state.growth_tracker = 0;
      return {state, Raised::nothing, true};
    }
  }
  const TorchParams torch{params.init_scale, params.growth_factor, params.backoff_factor, params.growth_interval};
  const bool overflow = found_inf != 0.0f;
  const TorchState updated = next(TorchState{state.scale, state.growth_tracker}, torch, overflow).state;
  state.scale = updated.scale;
  state.growth_tracker = updated.growth_tracker;
  if (found_inf <= 0.0f) state.hysteresis_tracker = params.hysteresis;
  return {state, Raised::nothing, overflow};
}

TARE_HD inline Outcome<ApexHysteresisState> next(const ApexHysteresisState& state, const ApexHysteresisParams& params,
                                                 bool overflow) {
  return next(state, params, overflow ? 1.0f : 0.0f);
}

}  // namespace tare::rule
