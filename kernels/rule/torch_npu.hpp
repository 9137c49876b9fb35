// torch_npu's GradScaler: torch's with a scale that may stand still, and an update of its own. torch_npu 9e73e708:
// torch_npu/npu/amp/grad_scaler.py, _npu_update_scale().
//
//   dynamic | overflow | tracker + 1 == interval | scale                                   | tracker
//   no      | -        | -                       | same, and no step is skipped            | same
//   yes     | yes      | -                       | x backoff_factor                        | 0
//   yes     | no       | no                      | same                                    | + 1, wraps as an int32
//   yes     | no       | yes                     | x growth_factor, if that is no infinity | 0
//
// A float32 tensor times a Python number that is rounded to float first, where torch's own kernel multiplies in double.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct TorchNpuParams {
  double init_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;
  bool dynamic = true;
};

struct TorchNpuState {
  float scale = 65536.0f;
  int32_t growth_tracker = 0;
};

TARE_HD inline TorchNpuState initial(const TorchNpuParams& params) {
  return {static_cast<float>(params.init_scale), 0};
}

TARE_HD inline Outcome<TorchNpuState> next(TorchNpuState state, const TorchNpuParams& params, bool overflow) {
  if (!params.dynamic) return {state};
  if (overflow) return {{state.scale * static_cast<float>(params.backoff_factor), 0}, Raised::nothing, true};
  state.growth_tracker = wrapping_add(state.growth_tracker, 1);
  if (state.growth_tracker != params.growth_interval) return {state};
  const float grown = state.scale * static_cast<float>(params.growth_factor);
  return {{is_finite(grown) || is_nan(grown) ? grown : state.scale, 0}};
}

}  // namespace tare::rule
