// flax's and Keras's delayed scaling. flax 0.12.8: linen/fp8_ops.py; keras 3.15.1: src/quantizers/quantizers.py. Their
// scale is what values are divided by. The new scale comes from the history as it was; then the newest amax goes in.
//
//   amax        | 1 / scale
//   finite, > 0 | fp8_max / amax / 2^margin
//   else        | same
//
// Denormals are zeros, as XLA and TensorFlow have them on the CPU.
#pragma once

#include "kernels/fp8/window.hpp"
#include "kernels/rule/arithmetic.hpp"

namespace tare::kernels::fp8 {

struct FlaxParams {
  float two_to_margin = 1;  ///< 2^margin
};

TARE_HD inline float next_scale(const FlaxParams& params, float scale, float amax, float fp8_max) {
  using rule::flushed;
  const float kept = flushed(1.0f / flushed(scale));
  const float seen = flushed(amax);
  const float next = is_finite(seen) && seen > 0 ? flushed(flushed(fp8_max / seen) / params.two_to_margin) : kept;
  return flushed(1.0f / next);
}

}  // namespace tare::kernels::fp8
