// Elements of each dtype: what their bits mean, and the way back, with the CPU backend's bits for every value. GPUs
// answer every NaN with one of their own; here it keeps its sign and payload and becomes quiet, as on the CPU.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif

#include "kernels/dtype.hpp"

namespace tare::kernels::cuda {

/// Whether the host's CPU sets the sign of a NaN that it makes. x86 does, Arm does not.
#if defined(__aarch64__)
inline constexpr bool new_nan_is_negative = false;
#else
inline constexpr bool new_nan_is_negative = true;
#endif

/// What a product of zero and infinity is on the host: there is no other source of a new NaN.
TARE_HD inline float new_nan(float) {
  return float_from(new_nan_is_negative ? 0xffc00000u : 0x7fc00000u);
}
TARE_HD inline double new_nan(double) {
  return double_from(new_nan_is_negative ? 0xfff8000000000000u : 0x7ff8000000000000u);
}

TARE_HD inline float quiet(float nan) {
  return float_from(bits_of(nan) | 0x00400000u);
}
TARE_HD inline double quiet(double nan) {
  return double_from(bits_of(nan) | 0x0008000000000000u);
}

/// a * b, rounded once, with the host's NaN: the first operand's goes before the second's.
template <class Float>
TARE_HD inline Float product(Float a, Float b) {
  const Float result = a * b;
  if (!is_nan(result)) return result;
  if (is_nan(a)) return quiet(a);
  return is_nan(b) ? quiet(b) : new_nan(a);
}

/// a / b, likewise.
TARE_HD inline float quotient(float a, float b) {
  const float result = a / b;
  if (!is_nan(result)) return result;
  if (is_nan(a)) return quiet(a);
  return is_nan(b) ? quiet(b) : new_nan(a);
}

TARE_HD inline double widened(float value) {
  if (!is_nan(value)) return static_cast<double>(value);
  const std::uint64_t bits = bits_of(value);
  return double_from((bits >> 31) << 63 | 0x7ff8000000000000u | (bits & 0x3fffffu) << 29);
}

TARE_HD inline float narrowed(double value) {
  if (!is_nan(value)) return static_cast<float>(value);
  const std::uint64_t bits = bits_of(value);
  return float_from(static_cast<std::uint32_t>((bits >> 63) << 31 | 0x7fc00000u | ((bits >> 29) & 0x3fffffu)));
}

/// A format of 16 or 8 bits, calculated with as float.
template <Dtype Id, class Format>
struct NarrowElement {
  using Bits = typename Format::Bits;
  using Math = float;
  static constexpr Dtype dtype = Id;
  static constexpr Bits magnitude = static_cast<Bits>(Format::sign - 1u);

  TARE_HD static float value(Bits bits) { return widen<Format>(bits); }
  TARE_HD static Bits bits(float value) { return narrow<Format>(value); }
};

template <Dtype>
struct Element;

template <>
struct Element<Dtype::f32> {
  using Bits = std::uint32_t;
  using Math = float;
  static constexpr Dtype dtype = Dtype::f32;
  static constexpr Bits magnitude = 0x7fffffffu;

  TARE_HD static float value(Bits bits) { return float_from(bits); }
  TARE_HD static Bits bits(float value) { return bits_of(value); }
};

template <>
struct Element<Dtype::f64> {
  using Bits = std::uint64_t;
  using Math = double;
  static constexpr Dtype dtype = Dtype::f64;
  static constexpr Bits magnitude = 0x7fffffffffffffffu;

  TARE_HD static double value(Bits bits) { return double_from(bits); }
  TARE_HD static Bits bits(double value) { return bits_of(value); }
};

template <>
struct Element<Dtype::f16> : NarrowElement<Dtype::f16, F16> {
#if defined(__CUDA_ARCH__)  // one instruction for all but NaN
  TARE_HD static float value(Bits bits) {
    if ((bits & magnitude) > F16::beyond) return widen<F16>(bits);
    return __half2float(__ushort_as_half(bits));
  }
  TARE_HD static Bits bits(float value) {
    return is_nan(value) ? narrow<F16>(value) : __half_as_ushort(__float2half_rn(value));
  }
#endif
};

template <>
struct Element<Dtype::bf16> : NarrowElement<Dtype::bf16, Bf16> {
  /// A NaN as it stands: whatever is calculated with it makes it quiet.
  TARE_HD static float value(Bits bits) { return float_from(static_cast<std::uint32_t>(bits) << 16); }
};

template <>
struct Element<Dtype::f8_e4m3fn> : NarrowElement<Dtype::f8_e4m3fn, F8E4m3fn> {
  /// The magnitude alone, and 480 for a NaN: statistics, all that fp8 is read for, need no more.
  TARE_HD static float value(Bits bits) {
    return float_from(static_cast<std::uint32_t>(bits & magnitude) << 20) * 0x1p120f;  // the biases differ by 120
  }
};

template <>
struct Element<Dtype::f8_e5m2> : NarrowElement<Dtype::f8_e5m2, F8E5m2> {
  /// The upper half of an f16.
  TARE_HD static float value(Bits bits) {
    return Element<Dtype::f16>::value(static_cast<std::uint16_t>(static_cast<std::uint32_t>(bits) << 8));
  }
};

/// A product's value as another dtype's bits: two roundings from f64 to 16 bits, by way of float, as torch casts.
template <class To>
TARE_HD inline typename To::Bits bits_from(float value) {
  if constexpr (sizeof(typename To::Bits) == 8) {
    return To::bits(widened(value));
  } else {
    return To::bits(value);
  }
}
template <class To>
TARE_HD inline typename To::Bits bits_from(double value) {
  if constexpr (sizeof(typename To::Bits) == 8) {
    return To::bits(value);
  } else {
    return To::bits(narrowed(value));
  }
}

/// Quantised to fp8: beyond the largest is the largest, NaN stays NaN and keeps its sign.
template <class Format>
TARE_HD inline typename Format::Bits saturated(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  if (!is_nan(value)) {
    constexpr auto kind = Format::mantissa_bits == 3 ? __NV_E4M3 : __NV_E5M2;
    return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, kind);
  }
#endif
  return narrow<Format>(value, Range::saturate);
}

}  // namespace tare::kernels::cuda
