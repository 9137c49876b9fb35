// A scale that never moves: Megatron's ConstantGradScaler, MindSpore's FixedLossScaleUpdateCell, a disabled scaler
// at 1.
//
//   overflow | scale | step
//   yes      | same  | skipped; taken where there is no scaler at all (Megatron with bf16 or fp32)
//   no       | same  | taken
#pragma once

#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct ConstantParams {
  double initial_scale = 1.0;
  bool skips_overflows = true;
};

struct ConstantState {
  float scale = 1.0f;
};

TARE_HD inline ConstantState initial(const ConstantParams& params) {
  return {static_cast<float>(params.initial_scale)};
}

TARE_HD inline Outcome<ConstantState> next(const ConstantState& state, const ConstantParams& params, bool overflow) {
  return {state, Raised::nothing, overflow && params.skips_overflows};
}

}  // namespace tare::rule
