// TransformerEngine's Float8BlockScaling: tiles of 1 x 128 (inputs, gradients) or 128 x 128 (weights), each with a
// float scale from its own amax, a power of two unless asked otherwise. transformer_engine 2.20.2: common/recipe/
// recipe_common.cuh compute_scale_from_types. The rule is current scaling's, but a scale beyond float becomes the
// largest number of the *input's* dtype.
#pragma once

#include "kernels/fp8/current.hpp"

namespace tare::kernels::fp8 {

inline constexpr int blockwise_block = 128;

struct BlockwiseParams {
  bool power_of_two = true;
  float epsilon = 0;
};

/// What the values of a tile are multiplied by to become fp8. `input`: f32, f16 or bf16.
TARE_HD inline float blockwise_scale(const BlockwiseParams& params, float amax, float fp8_max, Dtype input) {
  float instead_of_infinity = FLT_MAX;
  if (input == Dtype::bf16) instead_of_infinity = widen<Bf16>(Bf16::largest);
  if (input == Dtype::f16) instead_of_infinity = widen<F16>(F16::largest);
  return current_scale({params.power_of_two, params.epsilon, instead_of_infinity}, amax, fp8_max);
}

/// What is kept beside the tile: what fp8 values are multiplied by to be values again.
TARE_HD inline float blockwise_scale_inverse(float scale) {
  return 1.0f / scale;
}

}  // namespace tare::kernels::fp8
