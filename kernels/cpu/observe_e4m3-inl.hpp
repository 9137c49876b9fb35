// The statistics of f8e4m3fn in whole bytes, where the instruction set can look bytes up. A square is a product of two
// small integers: that of the significand (0 to 15, squared at most 225) and a power of four. Within a piece the sum of
// squares is a multiple of 2^-18 below 2^33, which a double holds exactly: sums of integers give the same bits as the
// sums by position that every other dtype has.
#pragma once

#include "kernels/cpu/observe-inl.hpp"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

using Bytes = hn::ScalableTag<std::uint8_t>;
using SignedBytes = hn::ScalableTag<std::int8_t>;
using Shorts = hn::ScalableTag<std::int16_t>;
using Ints = hn::ScalableTag<std::int32_t>;

/// Products of bytes, the second ones signed, added in pairs. REQUIRES: sums below 2^15.
HWY_INLINE hn::Vec<Shorts> products_in_pairs(hn::Vec<Bytes> a, hn::Vec<Bytes> b) {
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<Shorts>{_mm512_maddubs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  return hn::Vec<Shorts>{_mm256_maddubs_epi16(a.raw, b.raw)};
#else
  return hn::Vec<Shorts>{_mm_maddubs_epi16(a.raw, b.raw)};
#endif
}

/// Looked up in every 16 bytes.
HWY_INLINE hn::Vec<Bytes> table(const std::uint8_t (&entries)[16]) {
  return hn::LoadDup128(Bytes(), entries);
}

class E4M3Squares {
  // Exponents in groups of four: the weights of a group, as powers of four, stay below 2^7. Exponent 0 (denormals)
  // counts as 1 does.
  static constexpr std::size_t kGroups = 4;
  static constexpr std::uint8_t kSquares[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};
  static constexpr std::uint8_t kWeights[kGroups][16] = {{1, 1, 4, 16, 64},
                                                         {0, 0, 0, 0, 0, 1, 4, 16, 64},
                                                         {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4, 16, 64},
                                                         {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4, 16}};

 public:
  HWY_INLINE E4M3Squares() {
    for (auto& sum : sums_) sum = hn::Zero(Ints());
  }

  /// Magnitudes; NaN counts as 480.
  HWY_INLINE void take(hn::Vec<Bytes> magnitude) {
    const Bytes d;
    const hn::Repartition<std::uint16_t, Bytes> d16;
    const auto exponent =
        hn::And(hn::BitCast(d, hn::ShiftRight<3>(hn::BitCast(d16, magnitude))), hn::Set(d, std::uint8_t{15}));
    const auto with_one = hn::Or(hn::And(magnitude, hn::Set(d, std::uint8_t{7})), hn::Set(d, std::uint8_t{8}));
    const auto squares = hn::TableLookupBytes(table(kSquares), hn::Min(magnitude, with_one));
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kGroups; ++i) {
      const auto products = products_in_pairs(squares, hn::TableLookupBytes(table(kWeights[i]), exponent));
      auto unused = hn::Zero(Ints());
      sums_[i] = hn::ReorderWidenMulAccumulate(Ints(), products, hn::Set(Shorts(), std::int16_t{1}), sums_[i], unused);
    }
  }

  HWY_INLINE double sum() const {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < kGroups; ++i) {
      HWY_ALIGN std::int32_t lanes[hn::MaxLanes(Ints())];
      hn::Store(sums_[i], Ints(), lanes);
      for (const std::int32_t lane : lanes) total += std::int64_t{lane} << (8 * i);
    }
    return static_cast<double>(total) * 0x1p-18;
  }

 private:
  hn::Vec<Ints> sums_[kGroups];
};

// Not inlined: beside other code the compiler would run out of registers.
HWY_NOINLINE inline void observe_e4m3_bytes(const void* in, std::uint32_t count, const Recipe& recipe, Found& found) {
  const Bytes d;
  const SignedBytes ds;
  constexpr std::uint32_t lanes = hn::MaxLanes(Bytes());
  const auto* at = static_cast<const std::uint8_t*>(in);
  const auto threshold = hn::Set(ds, static_cast<std::int8_t>(recipe.threshold_pattern[F8E4M3::id]));
  E4M3Squares squares;
  Counter<SignedBytes> zeros;
  Counter<SignedBytes> below;
  auto greatest = hn::Zero(ds);
  const auto take = [&](const std::uint8_t* bytes) HWY_ATTR {
    const auto magnitude = hn::And(hn::LoadU(d, bytes), hn::Set(d, std::uint8_t{0x7f}));
    const auto as_signed = hn::BitCast(ds, magnitude);
    greatest = hn::Max(greatest, as_signed);
    zeros.add(hn::Eq(as_signed, hn::Zero(ds)));
    below.add(hn::Lt(as_signed, threshold));
    squares.take(magnitude);
  };
  constexpr std::size_t most = Counter<SignedBytes>::kMostVectors;
  for (std::size_t left = count / lanes; left > 0;) {
    const std::size_t stretch = left < most ? left : most;
    for (std::size_t i = 0; i < stretch; ++i, at += lanes) take(at);
    zeros.empty();
    below.empty();
    left -= stretch;
  }
  const std::uint32_t rest = count % lanes;
  if (rest != 0) {
    HWY_ALIGN std::uint8_t padded[lanes] = {};
    __builtin_memcpy(padded, at, rest);
    take(padded);
    zeros.empty();
    below.empty();
  }
  HWY_ALIGN std::int8_t maxima[lanes];
  hn::Store(greatest, ds, maxima);
  std::int8_t max = 0;
  for (const std::int8_t lane : maxima) max = lane > max ? lane : max;
  found.max_pattern = static_cast<std::uint8_t>(max);
  found.below = below.count() > zeros.count() ? below.count() - zeros.count() : 0;
  found.zeros = zeros.count() - (rest != 0 ? lanes - rest : 0);
  found.sum_of_squares = squares.sum();
}

inline void observe_e4m3_piece(const void* in, void*, std::uint32_t count, const Recipe& recipe, Found& found) {
  if (count <= kSmall) {
    observe_small<F8E4M3>(static_cast<const std::uint8_t*>(in), count, recipe, found);
  } else {
    observe_e4m3_bytes(in, count, recipe, found);
  }
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
