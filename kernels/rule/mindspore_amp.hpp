// mindspore.amp.DynamicLossScaler. mindspore 2.10.0: mindspore/amp.py.
//
//   overflow | counter == window - 1 | scale                                | counter
//   yes      | -                     | max(1, / factor)                     | 0
//   no       | yes                   | x factor, kept if that is not finite | (counter + 1) mod window
//   no       | no                    | same                                 | (counter + 1) mod window
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct MindsporeAmpParams {
  double scale_value = 65536.0;
  double scale_factor = 2.0;
  int32_t scale_window = 2000;
};

struct MindsporeAmpState {
  float scale = 65536.0f;
  int32_t counter = 0;
};

TARE_HD inline MindsporeAmpState initial(const MindsporeAmpParams& params) {
  return {static_cast<float>(params.scale_value), 0};
}

TARE_HD inline Outcome<MindsporeAmpState> next(MindsporeAmpState state, const MindsporeAmpParams& params,
                                               bool overflow) {
  const float factor = static_cast<float>(params.scale_factor);
  if (overflow) {
    state.scale = maximum(1.0f, state.scale / factor);
    state.counter = 0;
    return {state, Raised::nothing, true};
  }
  if (params.scale_window == 0) return {state, Raised::division_by_zero, true};
  if (state.counter == wrapping_add(params.scale_window, -1)) {
    const float grown = state.scale * factor;
    if (is_finite(grown)) state.scale = grown;
  }
  state.counter = floor_modulo(wrapping_add(state.counter, 1), params.scale_window);
  return {state};
}

}  // namespace tare::rule
