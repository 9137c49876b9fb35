// The values of a block of 32 elements of 8 or 16 bits as vectors of floats, made with as few operations as can be,
// each dtype in an order of its own.
//
// fp8, where there is an element in every byte that is read: the upper 16 bits of a float have room for all of a
// magnitude m. For 2^kExponent times its value they are kStep (m + 112 - below_normal(m) + 256 kHigh). With 256 as
// 255 + 1 that is a sum of two products of bytes; 255 is what comparing m > 0 leaves, so that 0 becomes 0. Infinities
// and NaN come out as the numbers that would follow the greatest.
#pragma once

#include "kernels/cpu/counts-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

/// for_each(at, use) calls use(i, vector) for each vector; its lane j is 2^kExponent times the element that the tree of
/// sums (fold.hpp) has at place_of(i, j).
template <class E>
struct BlockValues;

template <>
struct BlockValues<F16> {
  using D = hn::CappedTag<float, kBlock>;
  static constexpr std::size_t kLanes = hn::MaxLanes(D());
  static constexpr int kExponent = 0;

  template <class Use>
  static HWY_INLINE void for_each(const std::uint16_t* at, const Use& use) {
#pragma GCC unroll kUnroll
    for (std::size_t i = 0; i < kBlock / kLanes; ++i) use(i, load_float(F16(), D(), at + i * kLanes));
  }
  static constexpr std::size_t place_of(std::size_t i, std::size_t j) {
    return i * kLanes + j;
  }
};

/// Even places, then odd ones.
template <>
struct BlockValues<BF16> {
  using D = hn::CappedTag<float, kBlock>;
  static constexpr std::size_t kLanes = hn::MaxLanes(D());
  static constexpr std::size_t kVectors = kBlock / kLanes;
  static constexpr int kExponent = 0;

  template <class Use>
  static HWY_INLINE void for_each(const std::uint16_t* at, const Use& use) {
#if HWY_TARGET == HWY_SCALAR
    for (std::size_t i = 0; i < kBlock; ++i) use(i % 2 * (kBlock / 2) + i / 2, load_float(BF16(), D(), at + i));
#else
    // Two elements are loaded as one word and cost one operation each to become floats.
    const Bits32<D> du;
#pragma GCC unroll kUnroll
    for (std::size_t i = 0; i < kVectors / 2; ++i) {
      const auto words = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(at) + i * kLanes);
      use(i, hn::BitCast(D(), hn::ShiftLeft<16>(words)));
      use(i + kVectors / 2, hn::BitCast(D(), hn::And(words, hn::Set(du, 0xffff0000u))));
    }
#endif
  }
  static constexpr std::size_t place_of(std::size_t i, std::size_t j) {
    return i * kLanes + j;
  }
};

#if HWY_TARGET == HWY_SCALAR

template <class E>
struct Fp8Values {
  using D = hn::ScalableTag<float>;
  static constexpr int kExponent = 0;

  template <class Use>
  static HWY_INLINE void for_each(const std::uint8_t* at, const Use& use) {
    for (std::size_t i = 0; i < kBlock; ++i) use(i, load_float(E(), D(), at + i));
  }
  static constexpr std::size_t place_of(std::size_t i, std::size_t) { return i; }
};

#else

template <class E>
class Fp8Values {
  // A block is one vector of bytes, two where vectors are narrow.
  using DB = hn::CappedTag<std::uint8_t, kBlock>;
  using Words = hn::Repartition<std::uint32_t, DB>;
  using V = hn::Vec<DB>;
  static constexpr std::size_t kBytes = hn::MaxLanes(DB());
  static constexpr int kMantissaBits = E::id == F8E4M3::id ? 3 : 2;
  static constexpr int kBias = E::id == F8E4M3::id ? 7 : 15;
  static constexpr int kStep = 1 << (7 - kMantissaBits);
  static constexpr int kHigh = E::id == F8E4M3::id ? 3 : 1;

  struct Table {
    alignas(16) std::uint8_t entries[16];
  };
  /// At m + kHigh, for all m where that is below 16; some of them are normal.
  static constexpr Table below_normal();
  static constexpr Table kBelowNormal = below_normal();

 public:
  using D = hn::Repartition<float, DB>;
  static constexpr int kExponent = kStep * (112 + 256 * kHigh) / 128 + kBias - 127;

  template <class Use>
  static HWY_INLINE void for_each(const std::uint8_t* at, const Use& use) {
    const DB d;
    const hn::RebindToSigned<DB> ds;
#pragma GCC unroll kUnroll
    for (std::size_t part = 0; part < kBlock / kBytes; ++part) {
      const auto magnitude = hn::And(hn::LoadU(d, at + part * kBytes), hn::Set(d, std::uint8_t{0x7f}));
      const auto is_positive = hn::BitCast(d, hn::VecFromMask(ds, hn::Gt(hn::BitCast(ds, magnitude), hn::Zero(ds))));
      // Indices from 128 on, of all but those few magnitudes, look up a 0.
      const auto index = hn::Add(magnitude, hn::Set(d, std::uint8_t{112 + kHigh}));
      const auto steps = hn::Sub(index, hn::TableLookupBytesOr0(hn::LoadDup128(d, kBelowNormal.entries), index));
      use_halves(part * 4, halves_of(hn::InterleaveLower(d, steps, is_positive)), use);
      use_halves(part * 4 + 2, halves_of(hn::InterleaveUpper(d, steps, is_positive)), use);
    }
  }
  /// 16 bytes are interleaved by themselves.
  static constexpr std::size_t place_of(std::size_t i, std::size_t j) {
    return i / 4 * kBytes + j / 4 * 16 + i % 4 / 2 * 8 + j % 4 * 2 + i % 2;
  }

 private:
  static HWY_INLINE hn::Vec<Words> halves_of(V pairs) {
    const hn::Repartition<std::uint16_t, DB> d16;
    const auto weights = hn::BitCast(DB(), hn::Set(d16, std::uint16_t{kHigh * kStep << 8 | kStep}));
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    return hn::Vec<Words>{_mm256_maddubs_epi16(pairs.raw, weights.raw)};
#else
    return hn::Vec<Words>{_mm_maddubs_epi16(pairs.raw, weights.raw)};
#endif
  }

  /// The floats whose upper halves these are: those at even places, those at odd ones.
  template <class Use>
  static HWY_INLINE void use_halves(std::size_t i, hn::Vec<Words> halves, const Use& use) {
    use(i, hn::BitCast(D(), hn::ShiftLeft<16>(halves)));
    use(i + 1, hn::BitCast(D(), hn::And(halves, hn::Set(Words(), 0xffff0000u))));
  }
};

template <class E>
constexpr typename Fp8Values<E>::Table Fp8Values<E>::below_normal() {
  Table table = {};
  table.entries[kHigh] = 112 + kHigh;
  for (int m = 1; m < 1 << kMantissaBits; ++m) {
    const float value =
        static_cast<float>(m) / static_cast<float>(std::uint64_t{1} << (kBias - 1 + kMantissaBits - kExponent));
    const int half = static_cast<int>(__builtin_bit_cast(std::uint32_t, value) >> 16);
    table.entries[m + kHigh] = static_cast<std::uint8_t>(m + 112 + 256 * kHigh - half / kStep);
  }
  return table;
}

#endif

template <>
struct BlockValues<F8E4M3> : Fp8Values<F8E4M3> {};
template <>
struct BlockValues<F8E5M2> : Fp8Values<F8E5M2> {};

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
