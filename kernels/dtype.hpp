// The number formats of gradients: sizes, bit patterns, and conversions that round to nearest, ties to even.
//
//   format   exponent mantissa bias largest  beyond the largest                       nan is written as
//   f16      5        10       15   65504    infinity                                 quiet, sign and payload kept
//   bf16     8        7        127  3.39e38  infinity                                 0x7fc0; torch's AVX2: 0xffff
//   f8e4m3fn 4        3        7    448      nan (0x7f): the format has no infinity   0x7f, sign kept
//   f8e5m2   5        2        15   57344    infinity                                 0x7f, sign kept
//
// "Beyond" means: the value rounded as if the exponent went on. Range::saturate gives the largest finite value
// instead, for infinities too (what NVIDIA calls satfinite); nan stays nan. Reading a pattern into a float is always
// exact.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/host_device.hpp"

namespace tare {

/// The numbers are those of the C ABI: never changed, never reused.
enum class Dtype : int32_t { f32 = 1, f64 = 2, f16 = 3, bf16 = 4, f8_e4m3fn = 5, f8_e5m2 = 6 };

/// What happens to a value beyond the largest finite one.
enum class Range : int32_t { format, saturate };

/// Bytes of one element; 0 for a number that is no dtype.
TARE_HD constexpr int64_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return 4;
    case Dtype::f64:
      return 8;
    case Dtype::f16:
    case Dtype::bf16:
      return 2;
    case Dtype::f8_e4m3fn:
    case Dtype::f8_e5m2:
      return 1;
  }
  return 0;
}

/// "f32", "f8e4m3fn" ...; "" for a number that is no dtype. Host only.
constexpr const char* name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return "f32";
    case Dtype::f64:
      return "f64";
    case Dtype::f16:
      return "f16";
    case Dtype::bf16:
      return "bf16";
    case Dtype::f8_e4m3fn:
      return "f8e4m3fn";
    case Dtype::f8_e5m2:
      return "f8e5m2";
  }
  return "";
}

TARE_HD inline uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

TARE_HD inline uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

TARE_HD inline float float_from(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

TARE_HD inline double double_from(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

TARE_HD inline bool is_finite(float value) {
  return (bits_of(value) & 0x7f800000u) != 0x7f800000u;
}
TARE_HD inline bool is_finite(double value) {
  return (bits_of(value) & 0x7ff0000000000000u) != 0x7ff0000000000000u;
}

TARE_HD inline bool is_nan(float value) {
  return (bits_of(value) & 0x7fffffffu) > 0x7f800000u;
}
TARE_HD inline bool is_nan(double value) {
  return (bits_of(value) & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
}

/// A narrow format: how its bits are laid out, and how it writes what has no place in it (patterns without sign).
template <class Pattern, int ExponentBits, int MantissaBits, uint32_t Largest, uint32_t Beyond, uint32_t Nan>
struct NarrowFormat {
  using Bits = Pattern;
  static constexpr int exponent_bits = ExponentBits;
  static constexpr int mantissa_bits = MantissaBits;
  static constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  static constexpr uint32_t sign = 1u << (ExponentBits + MantissaBits);
  static constexpr uint32_t largest = Largest;  // the largest finite pattern
  static constexpr uint32_t beyond = Beyond;    // what an overflow becomes
  static constexpr uint32_t nan = Nan;
};

using F16 = NarrowFormat<uint16_t, 5, 10, 0x7bff, 0x7c00, 0x7e00>;
using Bf16 = NarrowFormat<uint16_t, 8, 7, 0x7f7f, 0x7f80, 0x7fc0>;
using F8E4m3fn = NarrowFormat<uint8_t, 4, 3, 0x7e, 0x7f, 0x7f>;
using F8E5m2 = NarrowFormat<uint8_t, 5, 2, 0x7b, 0x7c, 0x7f>;

namespace detail {

/// A finite magnitude's pattern, as if exponents went on for ever: the caller compares it with the largest.
template <class Format>
TARE_HD constexpr uint32_t rounded_magnitude(uint32_t magnitude) {
  constexpr int dropped = 23 - Format::mantissa_bits;
  const int exponent = static_cast<int>(magnitude >> 23) - 127 + Format::bias;  // in the target, before any denormal
  if (exponent > 0 || Format::bias == 127) {  // equal bias: float's denormals are the target's too
    const uint32_t odd = (magnitude >> dropped) & 1u;
    const uint32_t rounded = (magnitude + ((1u << (dropped - 1)) - 1u) + odd) >> dropped;
    return rounded - (static_cast<uint32_t>(127 - Format::bias) << Format::mantissa_bits);
  }
  const int shift = dropped + 1 - exponent;
  if (shift > 24) return 0;  // below half of the smallest denormal
  const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const uint32_t odd = (mantissa >> shift) & 1u;
  return (mantissa + ((1u << (shift - 1)) - 1u) + odd) >> shift;
}

}  // namespace detail

/// `value` in the narrow format, rounded to nearest even.
template <class Format>
TARE_HD inline typename Format::Bits narrow(float value, Range range = Range::format) {
  using Bits = typename Format::Bits;
  const uint32_t bits = bits_of(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t sign = (bits >> 31) != 0 ? Format::sign : 0u;
  if (magnitude > 0x7f800000u) {
    if (Format::bias == 127) return static_cast<Bits>(Format::nan);
    const uint32_t payload =
        Format::exponent_bits == 5 && Format::mantissa_bits == 10 ? (magnitude >> 13) & 0x3ffu : 0u;
    return static_cast<Bits>(sign | Format::nan | payload);
  }
  uint32_t rounded = magnitude == 0x7f800000u ? Format::largest + 1u : detail::rounded_magnitude<Format>(magnitude);
  if (rounded > Format::largest) rounded = range == Range::saturate ? Format::largest : Format::beyond;
  return static_cast<Bits>(sign | rounded);
}

/// The float that a narrow pattern stands for: exact; nan keeps its sign and payload.
template <class Format>
TARE_HD inline float widen(typename Format::Bits pattern) {
  constexpr int gained = 23 - Format::mantissa_bits;
  const uint32_t magnitude = pattern & (Format::sign - 1u);
  const uint32_t sign = (pattern & Format::sign) != 0 ? 0x80000000u : 0u;
  if (magnitude > Format::largest) {  // infinity is the pattern right after the largest, where there is one
    const bool infinite = Format::beyond != Format::nan && magnitude == Format::beyond;
    const uint32_t payload = infinite ? 0u : ((magnitude << gained) & 0x7fffffu) | 0x400000u;
    return float_from(sign | 0x7f800000u | payload);
  }
  const uint32_t exponent = magnitude >> Format::mantissa_bits;
  if (exponent != 0 || Format::bias == 127) {
    return float_from(sign | ((magnitude << gained) + (static_cast<uint32_t>(127 - Format::bias) << 23)));
  }
  // A denormal is its mantissa times the smallest one, a power of two: both exact in float.
  const float smallest = float_from(static_cast<uint32_t>(128 - Format::bias - Format::mantissa_bits) << 23);
  const float value = static_cast<float>(magnitude) * smallest;
  return sign != 0 ? -value : value;
}

}  // namespace tare
