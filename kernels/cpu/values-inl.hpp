// The values of a block of 32 elements of 8 or 16 bits as vectors of floats, made with as few operations as can be,
// each dtype in an order of its own.
//
// fp8, where there is an element in every byte that is read: the upper 16 bits of a float have room for all of a
// magnitude m. For 2^exponent times its value they are step (m + lift + 256): for normal elements the lift is always
// the same, for others, whose m is small, a table has it. With m - lift as a byte, which is m - lift + 256, that is a
// sum of two products of bytes, step times this and 2 step times the lift; and 0 for 0, whose lift is 0. Infinities
// and NaN come out as the numbers that would follow the greatest.
#pragma once

#include "kernels/cpu/blocks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

/// for_each(at, use) calls use(i, vector) for each vector; its lane j is 2^exponent times the element that the tree of
/// sums (fold.hpp) has at place_of(i, j); that of a second block is block_elements more.
template <class E, class Blocks = OneBlock>
struct BlockValues;

template <>
struct BlockValues<F16> {
  using D = hn::CappedTag<float, block_elements>;
  static constexpr std::size_t lane_count = lanes_of<D>;
  static constexpr int exponent = 0;

  template <class Use>
  static HWY_INLINE void for_each(const std::uint16_t* at, const Use& use) {
#pragma GCC unroll unroll_count
    for (std::size_t i = 0; i < block_elements / lane_count; ++i) use(i, load_float(F16(), D(), at + i * lane_count));
  }
  static constexpr std::size_t place_of(std::size_t i, std::size_t j) {
    return i * lane_count + j;
  }
};

/// Even places, then odd ones.
template <>
struct BlockValues<BF16> {
  using D = hn::CappedTag<float, block_elements>;
  static constexpr std::size_t lane_count = lanes_of<D>;
  static constexpr std::size_t vectors = block_elements / lane_count;
  static constexpr int exponent = 0;

  template <class Use>
  static HWY_INLINE void for_each(const std::uint16_t* at, const Use& use) {
#if HWY_TARGET == HWY_SCALAR
    for (std::size_t i = 0; i < block_elements; ++i)
      use(i % 2 * (block_elements / 2) + i / 2, load_float(BF16(), D(), at + i));
#else
    // Two elements are loaded as one word and cost one operation each to become floats.
    const Bits32<D> du;
#pragma GCC unroll unroll_count
    for (std::size_t i = 0; i < vectors / 2; ++i) {
      const auto words = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(at) + i * lane_count);
      use(i, hn::BitCast(D(), hn::ShiftLeft<16>(words)));
      use(i + vectors / 2, hn::BitCast(D(), hn::And(words, hn::Set(du, 0xffff0000u))));
    }
#endif
  }
  static constexpr std::size_t place_of(std::size_t i, std::size_t j) {
    return i * lane_count + j;
  }
};

#if HWY_TARGET == HWY_SCALAR

template <class E, class>
struct Fp8Values {
  using D = hn::ScalableTag<float>;
  static constexpr int exponent = 0;

  template <class Use>
  static HWY_INLINE void for_each(const std::uint8_t* at, const Use& use) {
    for (std::size_t i = 0; i < block_elements; ++i) use(i, load_float(E(), D(), at + i));
  }
  static constexpr std::size_t place_of(std::size_t i, std::size_t) { return i; }
};

#else

template <class E, class Blocks>
class Fp8Values {
  // One vector of bytes, two where vectors are narrow.
  using DB = typename Blocks::template Tag<std::uint8_t>;
  using Signed = hn::RebindToSigned<DB>;
  using Words = hn::Repartition<std::uint32_t, DB>;
  using V = hn::Vec<DB>;
  static constexpr std::size_t bytes = lanes_of<DB>;
  static constexpr int mantissa_bits = E::id == F8E4M3::id ? 3 : 2;
  static constexpr int bias = E::id == F8E4M3::id ? 7 : 15;
  static constexpr int step = 1 << (7 - mantissa_bits);
  static constexpr std::uint8_t least_normal = 1 << mantissa_bits;
  static constexpr int least_exponent = E::id == F8E4M3::id ? -63 : 1;  ///< its float's, as high as lifts can be bytes

  struct Table {
    alignas(16) std::uint8_t entries[16];
  };
  static constexpr Table lifts();
  static constexpr Table lift_table = lifts();

 public:
  using D = hn::Repartition<float, DB>;
  static constexpr int exponent = least_exponent - (1 - bias);

  /// Which magnitudes are not 0.
  static HWY_INLINE hn::Mask<Signed> is_positive(V magnitude) {
    // Their lifts are 128 and more: to count those, one instruction takes the highest bits of all.
    return hn::Lt(hn::BitCast(Signed(), lift_of(magnitude)), hn::Zero(Signed()));
  }

  template <class Use>
  static HWY_INLINE void for_each(const std::uint8_t* at, const Use& use) {
    const DB d;
#pragma GCC unroll unroll_count
    for (std::size_t part = 0; part < Blocks::elements / bytes; ++part) {
      const auto magnitude = hn::And(Blocks::load(at, part * bytes), hn::Set(d, std::uint8_t{0x7f}));
      const auto lift = lift_of(magnitude);
      const auto rest = hn::Sub(magnitude, lift);
      use_halves(part * 4, halves_of(hn::InterleaveLower(d, rest, lift)), use);
      use_halves(part * 4 + 2, halves_of(hn::InterleaveUpper(d, rest, lift)), use);
    }
  }
  /// 16 bytes are interleaved by themselves.
  static constexpr std::size_t place_of(std::size_t i, std::size_t j) {
    return i / 4 * bytes + j / 4 * 16 + i % 4 / 2 * 8 + j % 4 * 2 + i % 2;
  }

 private:
  static HWY_INLINE V lift_of(V magnitude) {
    const DB d;
    const auto index = hn::Min(magnitude, hn::Set(d, least_normal));
    return hn::TableLookupBytes(hn::LoadDup128(d, lift_table.entries), index);
  }

  static HWY_INLINE hn::Vec<Words> halves_of(V pairs) {
    const hn::Repartition<std::uint16_t, DB> d16;
#if TARE_IS_ARM
    // step and 2 step are powers of two: the lower byte shifted up, and the upper one shifted less far down.
    const auto words = hn::BitCast(d16, pairs);
    constexpr int shift = 7 - mantissa_bits;
    const auto of_rest = hn::ShiftLeft<shift>(hn::And(words, hn::Set(d16, std::uint16_t{0xff})));
    const auto of_lift = hn::ShiftLeft<shift + 1>(hn::ShiftRight<8>(words));
    return hn::BitCast(Words(), hn::Add(of_rest, of_lift));
#else
    const auto weights = hn::BitCast(DB(), hn::Set(d16, std::uint16_t{2 * step << 8 | step}));
#if HWY_TARGET == HWY_AVX3
    if constexpr (bytes == 64) return hn::Vec<Words>{_mm512_maddubs_epi16(pairs.raw, weights.raw)};
    if constexpr (bytes == 32) return hn::Vec<Words>{_mm256_maddubs_epi16(pairs.raw, weights.raw)};
#elif HWY_TARGET == HWY_AVX2
    return hn::Vec<Words>{_mm256_maddubs_epi16(pairs.raw, weights.raw)};
#else
    return hn::Vec<Words>{_mm_maddubs_epi16(pairs.raw, weights.raw)};
#endif
#endif
  }

  /// The floats whose upper halves these are: those at even places, those at odd ones.
  template <class Use>
  static HWY_INLINE void use_halves(std::size_t i, hn::Vec<Words> halves, const Use& use) {
    use(i, hn::BitCast(D(), hn::ShiftLeft<16>(halves)));
    use(i + 1, hn::BitCast(D(), hn::And(halves, hn::Set(Words(), 0xffff0000u))));
  }
};

/// By magnitude, up to the least normal one.
template <class E, class Blocks>
constexpr typename Fp8Values<E, Blocks>::Table Fp8Values<E, Blocks>::lifts() {
  Table table = {};
  for (int m = 1; m <= least_normal; ++m) {
    const float of_least_normal = static_cast<float>(m) / static_cast<float>(least_normal);
    const int half = static_cast<int>(__builtin_bit_cast(std::uint32_t, of_least_normal) >> 16) + least_exponent * 128;
    table.entries[m] = static_cast<std::uint8_t>(half / step - m - 256);
  }
  return table;
}

#endif

template <class Blocks>
struct BlockValues<F8E4M3, Blocks> : Fp8Values<F8E4M3, Blocks> {};
template <class Blocks>
struct BlockValues<F8E5M2, Blocks> : Fp8Values<F8E5M2, Blocks> {};

/// Which magnitudes are not 0.
template <class E, class Blocks, class D>
HWY_INLINE hn::Mask<D> is_positive(D d, hn::Vec<D> magnitude) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(typename E::Bits) == 1) {  // shares work with the values
    return BlockValues<E, Blocks>::is_positive(hn::BitCast(hn::RebindToUnsigned<D>(), magnitude));
  }
#endif
  return hn::Gt(magnitude, hn::Zero(d));
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
