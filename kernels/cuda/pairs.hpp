// Two elements of 16 bits in a word: what a GPU does with both at once. The host does the same half by half.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "kernels/element.hpp"

namespace tare::kernels::cuda {

TARE_HD inline std::uint32_t pair_of(std::uint32_t half) {
  return half << 16 | half;
}
TARE_HD inline std::uint32_t lower_half(std::uint32_t pair) {
  return pair & 0xffffu;
}
TARE_HD inline std::uint32_t upper_half(std::uint32_t pair) {
  return pair >> 16;
}

/// The bytes of the lower half of a word (0) or of its upper one (1), each as the upper byte of a half.
TARE_HD inline std::uint32_t upper_bytes(std::uint32_t word, int half) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(word, 0, half == 0 ? 0x1404 : 0x3424);
#else
  const std::uint32_t bytes = half == 0 ? word : word >> 16;
  return (bytes & 0xffu) << 8 | (bytes & 0xff00u) << 16;
#endif
}

/// Bytes of both, those of `a` numbered from 0 and of `b` from 4: the digits of `which` from the lowest on say which.
TARE_HD inline std::uint32_t chosen_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t which) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(a, b, which);
#else
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t chosen = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    chosen |= static_cast<std::uint32_t>(both >> ((which >> (4 * i) & 7u) * 8) & 0xffu) << (8 * i);
  }
  return chosen;
#endif
}

/// The greater of the lower halves, and of the upper ones, as integers.
TARE_HD inline std::uint32_t larger_pair(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  std::uint32_t larger;
  asm("max.u16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
  return larger;
#else
  const std::uint32_t upper = a < b ? b : a;
  const std::uint32_t x = lower_half(a);
  const std::uint32_t y = lower_half(b);
  return (upper & 0xffff0000u) | (x < y ? y : x);
#endif
}

/// Whether one of two halves is below `limit` and not 0; `limit` is above 0.
TARE_HD inline bool any_low(std::uint32_t pair, std::uint32_t limit) {
  const std::uint32_t x = lower_half(pair) - 1;  // 0 becomes the greatest
  const std::uint32_t y = upper_half(pair) - 1;
  return (x < y ? x : y) < limit - 1;
}

/// Whether one of two halves, neither above 0x7fff, is `limit` or above; `limit` is above 0 and at most 0x8000.
TARE_HD inline bool any_from(std::uint32_t pair, std::uint32_t limit) {
  return ((pair + pair_of(0x8000u - limit)) & 0x80008000u) != 0;
}

/// Counts halves below a limit. A GPU compares them as f16, whose patterns are in the order of their magnitudes; those
/// of NaN are below nothing: `limit` is at most infinity's.
class PairCounter {
 public:
  static constexpr std::uint32_t most_limit = 0x7c00u;
  static constexpr std::uint32_t most_pairs = 2048;  ///< until take(): an f16 counts no further

  /// `limit`: the same in both halves.
  TARE_HD void add(std::uint32_t pair, std::uint32_t limit) {
#if defined(__CUDA_ARCH__)
    std::uint32_t ones;
    asm("set.lt.f16x2.f16x2 %0, %1, %2;" : "=r"(ones) : "r"(pair), "r"(limit));
    asm("add.f16x2 %0, %1, %2;" : "=r"(counts_) : "r"(counts_), "r"(ones));
#else
    counts_ += lower_half(pair) < lower_half(limit) ? 1u : 0u;
    counts_ += upper_half(pair) < upper_half(limit) ? 0x10000u : 0u;
#endif
  }

  /// How many there were since the last time.
  TARE_HD std::uint32_t take() {
    const std::uint32_t counts = counts_;
    counts_ = 0;
#if defined(__CUDA_ARCH__)
    const float lower = __half2float(__ushort_as_half(static_cast<unsigned short>(counts)));
    const float upper = __half2float(__ushort_as_half(static_cast<unsigned short>(counts >> 16)));
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(lower + upper));
#else
    return lower_half(counts) + upper_half(counts);
#endif
  }

 private:
  std::uint32_t counts_ = 0;
};

/// The values of both halves of an f16 or bf16 pair; of a NaN any NaN.
template <class E>
TARE_HD inline void widen_pair(std::uint32_t pair, float& lower, float& upper) {
  if constexpr (E::dtype == Dtype::bf16) {
    lower = float_from(pair << 16);
    upper = float_from(pair & 0xffff0000u);
  } else {
#if defined(__CUDA_ARCH__)
    lower = __half2float(__ushort_as_half(static_cast<unsigned short>(pair)));
    upper = __half2float(__ushort_as_half(static_cast<unsigned short>(pair >> 16)));
#else
    lower = widen<F16>(static_cast<F16::Bits>(lower_half(pair)));
    upper = widen<F16>(static_cast<F16::Bits>(upper_half(pair)));
#endif
  }
}

/// And back, rounded to nearest even. REQUIRES: neither is NaN.
template <class E>
TARE_HD inline std::uint32_t narrow_pair(float lower, float upper) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint32_t pair;
  if constexpr (E::dtype == Dtype::bf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(upper), "f"(lower));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(upper), "f"(lower));
  }
  return pair;
#else
  return static_cast<std::uint32_t>(E::bits(lower)) | static_cast<std::uint32_t>(E::bits(upper)) << 16;
#endif
}

/// Two floats as fp8, as saturated() has them, the first in the lower byte. REQUIRES: neither is NaN.
template <class Format>
TARE_HD inline std::uint16_t saturated_pair(float lower, float upper) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  std::uint16_t pair;
  if constexpr (Format::mantissa_bits == 3) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(upper), "f"(lower));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(upper), "f"(lower));
  }
  return pair;
#else
  const std::uint32_t upper_bits = saturated<Format>(upper);
  return static_cast<std::uint16_t>(upper_bits << 8 | saturated<Format>(lower));
#endif
}

}  // namespace tare::kernels::cuda
