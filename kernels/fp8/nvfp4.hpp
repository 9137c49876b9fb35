// NVFP4: values of E2M1 in blocks of 16, an E4M3 scale for each block, and one float for the whole tensor.
// transformer_engine 2.20.2: common/cast/nvfp4/core_nvfp4.cuh (quantization_and_transposition_SF, what its PyTorch
// modules use), quantize_transpose_nvfp4.cuh.
//
//   tensor's amax    | its scale
//   0, infinity      | 1
//   NaN              | FLT_MAX
//   else             | 448 x 6 / amax, at most FLT_MAX
//
//   a block's scale  = e4m3(block's amax x (tensor's scale x (1 / 6))), at most 448, also for a NaN
//   values           are multiplied by 1 / (block's scale x (1 / tensor's scale)), at most FLT_MAX
#pragma once

#include <cfloat>
#include <cstdint>

#include "kernels/element.hpp"

namespace tare::kernels::fp8 {

inline constexpr int nvfp4_block = 16;

/// 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives: no infinity, no NaN.
using F4E2m1 = NarrowFormat<std::uint8_t, 2, 1, 0x7, 0x7, 0x7>;
inline constexpr float f4_largest = 6;

/// CUDA's fminf(value, FLT_MAX), for which a NaN is no number.
TARE_HD inline float at_most_float_max(float value) {
  return value < FLT_MAX ? value : FLT_MAX;
}

/// What the whole tensor's values are multiplied by.
TARE_HD inline float nvfp4_tensor_scale(float amax) {
  const float scale = at_most_float_max(448.0f * f4_largest / amax);
  return amax == 0 || scale == 0 ? 1 : scale;
}

/// A block's scale as it is kept, in E4M3: what its values are multiplied by to be values again, but for the tensor's
/// scale.
TARE_HD inline std::uint8_t nvfp4_block_scale(float block_amax, float tensor_scale) {
  const float scale = block_amax * (tensor_scale * (1.0f / f4_largest));
  return cuda::saturated<F8E4m3fn>(at_most_float_max(scale));
}

/// What a block's values are multiplied by to become E2M1.
TARE_HD inline float nvfp4_factor(std::uint8_t block_scale, float tensor_scale) {
  return at_most_float_max(1.0f / (widen<F8E4m3fn>(block_scale) * (1.0f / tensor_scale)));
}

/// What a block's E2M1 is multiplied by to be values again: dequantize_nvfp4.cuh. `amax`: the tensor's.
TARE_HD inline float nvfp4_value_scale(std::uint8_t block_scale, float amax) {
  return widen<F8E4m3fn>(block_scale) * amax * (1.0f / (f4_largest * 448.0f));
}

/// To nearest even; beyond the largest is the largest, and NaN is +6, as PTX's cvt.rn.satfinite.e2m1x2 has it.
TARE_HD inline std::uint8_t e2m1_from(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(F4E2m1::largest);
  const std::uint32_t halves =
      bits_of(float_from(magnitude) + 0x1p22f) & 0x7u;  // where halves are what floats round to
  const std::uint32_t rounded = (magnitude + 0x1fffffu + (magnitude >> 22 & 1u)) >> 22;  // to a bit of mantissa
  const std::uint32_t above = rounded - 0xfcu;                                           // 1 is 2
  const std::uint32_t pattern = magnitude < 0x3f800000u ? halves : above < F4E2m1::largest ? above : F4E2m1::largest;
  return static_cast<std::uint8_t>(pattern | (bits >> 28 & F4E2m1::sign));
}

TARE_HD inline float value_of_e2m1(std::uint8_t pattern) {
  return widen<F4E2m1>(pattern);
}

}  // namespace tare::kernels::fp8
