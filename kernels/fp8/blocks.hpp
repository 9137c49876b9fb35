// Many elements at once, with the bits that one at a time gives: loops without branches, which compilers make vectors
// of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/fp8/cast_element.hpp"

namespace tare::kernels::fp8 {

/// What Element<...>::value gives for each, but for a NaN of f16, which stays as it stands: whatever is calculated with
/// it makes it quiet.
template <class E>
void widen_block(const typename E::Bits* bits, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = E::value(bits[i]);
}

/// All ones where it is so: selects without a branch, behind which nothing is left to be calculated.
constexpr std::uint32_t mask_of(bool is_so) {
  return 0u - static_cast<std::uint32_t>(is_so);
}

/// Each kind of f16 is calculated, and the right one taken: widen<F16> branches.
template <>
inline void widen_block<cuda::Element<Dtype::f16>>(const std::uint16_t* bits, std::size_t count, float* to) {
  constexpr std::uint32_t other_bias = 112u << 23;  // between the exponents of f16 and float
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = bits[i] & 0x7fffu;
    const std::uint32_t is_denormal = mask_of(magnitude < 0x400u);
    const std::uint32_t is_beyond = mask_of(magnitude > F16::largest);
    const std::uint32_t denormal = bits_of(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
    const std::uint32_t normal = (magnitude << 13) + other_bias + (is_beyond & other_bias);
    const std::uint32_t sign = (bits[i] & 0x8000u) << 16;
    to[i] = float_from((is_denormal & denormal) | (~is_denormal & normal) | sign);
  }
}

/// What cuda::product gives for each with `factor`. REQUIRES: which is no NaN.
inline void multiply_block(float* values, std::size_t count, float factor) {
  const std::uint32_t new_nan_bits = bits_of(cuda::new_nan(factor));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t before = bits_of(values[i]);
    const std::uint32_t after = bits_of(values[i] * factor);
    const std::uint32_t was_nan = mask_of((before & 0x7fffffffu) > 0x7f800000u);
    const std::uint32_t is_nan = mask_of((after & 0x7fffffffu) > 0x7f800000u);
    const std::uint32_t nan = (was_nan & (before | 0x00400000u)) | (~was_nan & new_nan_bits);
    values[i] = float_from((is_nan & nan) | (~is_nan & after));
  }
}

/// What cuda::saturated gives for each: fp8.
template <class Format>
void saturate_block(const float* values, std::size_t count, std::uint8_t* to) {
  constexpr int dropped = 23 - Format::mantissa_bits;
  constexpr std::uint32_t other_bias = static_cast<std::uint32_t>(127 - Format::bias);
  // Added to a denormal, it leaves as many bits of it as the format has, rounded.
  constexpr std::uint32_t rounder = (other_bias + 1 + dropped) << 23;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = bits_of(values[i]);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const std::uint32_t is_denormal = mask_of(magnitude < (other_bias + 1) << 23);
    const std::uint32_t is_nan = mask_of(magnitude > 0x7f800000u);
    const std::uint32_t denormal = bits_of(float_from(magnitude) + float_from(rounder)) - rounder;
    const std::uint32_t half = (1u << (dropped - 1)) - 1u + ((magnitude >> dropped) & 1u);
    const std::uint32_t normal = ((magnitude + half) >> dropped) - (other_bias << Format::mantissa_bits);
    const std::uint32_t rounded = (is_denormal & denormal) | (~is_denormal & normal);
    const std::uint32_t fits = mask_of(rounded <= Format::largest);
    const std::uint32_t finite = (fits & rounded) | (~fits & Format::largest);
    to[i] = static_cast<std::uint8_t>((is_nan & Format::nan) | (~is_nan & finite) | (bits >> 31 << 7));
  }
}

}  // namespace tare::kernels::fp8
