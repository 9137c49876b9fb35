// MXFP8: blocks of 32 values share a power of two, kept as its exponent (E8M0). transformer_engine 2.20.2:
// common/util/ptx_arch_spec.cuh float_to_e8m0, common/util/ptx.cuh exp2f, exp2f_rcp; the format: OCP Microscaling v1.0.
//
//   amax / largest   | E8M0
//   NaN              | 0xff, the format's NaN
//   infinity         | 0xfe, 2^127: its largest
//   0                | 0x00, 2^-127
//   else             | the exponent, rounded up; 2^127 at most, 2^-127 at least
//
// (The quotient is a product with 1 / largest, rounded to a float.)
#pragma once

#include <cstdint>

#include "kernels/dtype.hpp"

namespace tare::kernels::fp8 {

inline constexpr int mx_block = 32;

/// A value that is no NaN is at most what the result stands for, if that is not 2^127. REQUIRES: no sign.
TARE_HD inline std::uint8_t e8m0_from(float value) {
  const std::uint32_t bits = bits_of(value);
  if (bits > 0x7f800000u) return 0xff;
  if (bits == 0x7f800000u) return 0xfe;
  const std::uint32_t exponent = bits >> 23;
  const std::uint32_t mantissa = bits & 0x7fffffu;
  const bool below_least = exponent == 0 && mantissa <= 0x400000u;  // 2^-127, itself a denormal, is exponent 0
  const bool rounds_up = mantissa != 0 && exponent != 0xfe && !below_least;
  return static_cast<std::uint8_t>(rounds_up ? exponent + 1 : exponent);
}

/// The scale of a block with that greatest magnitude, for a format with that largest value (448, 57344).
TARE_HD inline std::uint8_t mxfp8_scale(float amax, float largest) {
  return e8m0_from(amax * static_cast<float>(1.0 / static_cast<double>(largest)));
}

/// What fp8 values are multiplied by to be values again.
TARE_HD inline float value_of_e8m0(std::uint8_t scale) {
  if (scale == 0xff) return float_from(0x7fffffffu);
  return float_from(scale == 0 ? 0x00400000u : static_cast<std::uint32_t>(scale) << 23);
}

/// What values are multiplied by to become fp8: its inverse.
TARE_HD inline float inverse_of_e8m0(std::uint8_t scale) {
  if (scale == 0xff) return float_from(0x7fffffffu);
  return float_from(scale == 0xfe ? 0x00400000u : (0xfeu - scale) << 23);
}

}  // namespace tare::kernels::fp8
