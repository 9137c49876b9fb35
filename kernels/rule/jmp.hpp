// jmp's DynamicLossScale. jmp 0.0.4 on jax 0.10.2: jmp/_src/loss_scale.py.
//
//   overflow | counter == period - 1 | loss_scale                            | counter
//   yes      | -                     | max(min_loss_scale, / factor)         | 0
//   no       | yes                   | x factor, kept if that is not finite  | (counter + 1) mod period
//   no       | no                    | same                                  | (counter + 1) mod period
//
// All in the dtype of loss_scale. min_loss_scale is a float32 one unless given, which a narrower scale cannot be
// compared with: every step raises then. XLA on the CPU flushes denormals of float32 and bfloat16.
#pragma once

#include "kernels/rule/arithmetic.hpp"
#include "kernels/rule/outcome.hpp"

namespace tare::rule {

struct JmpParams {
  double loss_scale = 32768.0;
  int32_t period = 2000;
  double factor = 2.0;
  double min_loss_scale = __builtin_nan("");  // nan: not given
  Dtype dtype = Dtype::f32;                   // or f16, bf16
};

struct JmpState {
  float scale = 32768.0f;  // a value of the dtype
  int32_t counter = 0;
};

/// `value` rounded to the dtype of the scale.
TARE_HD inline float jmp_rounded(float value, Dtype dtype) {
  if (dtype == Dtype::f16) return widen<F16>(narrow<F16>(value));
  if (dtype == Dtype::bf16) return widen<Bf16>(narrow<Bf16>(value));
  return value;
}

TARE_HD inline JmpState initial(const JmpParams& params) {
  return {jmp_rounded(static_cast<float>(params.loss_scale), params.dtype), 0};
}

TARE_HD inline Outcome<JmpState> next(JmpState state, const JmpParams& params, bool overflow) {
  const bool given = !is_nan(params.min_loss_scale);
  if (!given && params.dtype != Dtype::f32) return {state, Raised::mixed_types, true};
  const float factor = jmp_rounded(static_cast<float>(params.factor), params.dtype);
  if (overflow) {
    const float floor = given ? jmp_rounded(static_cast<float>(params.min_loss_scale), params.dtype) : 1.0f;
    const float lowered = jmp_rounded(flushed(flushed(state.scale) / factor), params.dtype);
    state.scale = flushed(maximum(floor, lowered));
    state.counter = 0;
    return {state, Raised::nothing, true};
  }
  if (state.counter == wrapping_add(params.period, -1)) {
    const float grown = jmp_rounded(flushed(flushed(state.scale) * factor), params.dtype);
    if (is_finite(grown)) state.scale = grown;
  }
  // XLA's remainder by zero is 0 here: such a scale never grows.
  state.counter = params.period == 0 ? 0 : floor_modulo(wrapping_add(state.counter, 1), params.period);
  return {state};
}

}  // namespace tare::rule
