// The statistics of f8e5m2, where vectors can multiply bytes. The upper 16 bits of a double have room for all of a
// magnitude, and integers make them out of bytes cheaper than conversions would: first the words of some blocks, then
// their squares, which are added position by position as every other dtype's.
//
// A double's upper word is 4 m + 16128 for a magnitude m; denormals (1 to 3) and 0 have others. Both together are
// 4 (m + 112 - kBelowNormal[m]) + 64 * 245, two products and a sum of bytes; the 245 becomes 0 where m is.
#pragma once

#include "kernels/cpu/observe-inl.hpp"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

/// A block of 32 elements is one vector of bytes, two where vectors are narrow.
using BlockBytes = hn::CappedTag<std::uint8_t, kBlock>;
using BlockSignedBytes = hn::RebindToSigned<BlockBytes>;
using BlockWords = hn::Repartition<std::uint16_t, BlockBytes>;
using BlockQuads = hn::Repartition<std::uint64_t, BlockBytes>;
using BlockDoubles = hn::Repartition<double, BlockBytes>;

inline constexpr std::size_t kBytesAtOnce = hn::MaxLanes(BlockBytes());

/// What is known from the bytes, and the words of their doubles.
class E5M2Bytes {
 public:
  explicit HWY_INLINE E5M2Bytes(const Recipe& recipe)
      : threshold_(hn::Set(BlockSignedBytes(), static_cast<std::int8_t>(recipe.threshold_pattern[F8E5M2::id]))),
        greatest_(hn::Zero(BlockSignedBytes())) {}

  /// Of a block. Of the bytes of a vector, the words of the lower halves of all 16 come first.
  HWY_INLINE void take(const std::uint8_t* at, std::uint16_t* words) {
#pragma GCC unroll kUnroll
    for (std::size_t i = 0; i < kBlock; i += kBytesAtOnce) take_vector(at + i, words + i);
  }

  HWY_INLINE void empty_counters() {
    zeros_.empty();
    below_.empty();
  }

  HWY_INLINE void finish(std::uint32_t padding, Found& found) const {
    HWY_ALIGN std::int8_t lanes[kBytesAtOnce];
    hn::Store(greatest_, BlockSignedBytes(), lanes);
    std::int8_t greatest = 0;
    for (const std::int8_t lane : lanes) greatest = lane > greatest ? lane : greatest;
    found.max_pattern = static_cast<std::uint8_t>(greatest);
    found.below = below_.count() > zeros_.count() ? below_.count() - zeros_.count() : 0;
    found.zeros = zeros_.count() - padding;
  }

 private:
  static constexpr std::uint8_t kBelowNormal[16] = {112, 5, 2, 1};

  HWY_INLINE void take_vector(const std::uint8_t* at, std::uint16_t* words) {
    const BlockBytes d;
    const BlockSignedBytes ds;
    const auto magnitude = hn::And(hn::LoadU(d, at), hn::Set(d, std::uint8_t{0x7f}));
    const auto as_signed = hn::BitCast(ds, magnitude);
    const auto is_zero = hn::Eq(as_signed, hn::Zero(ds));
    greatest_ = hn::Max(greatest_, as_signed);
    zeros_.add(is_zero);
    below_.add(hn::Lt(as_signed, threshold_));
    // Indices from 128 on, of all but the first 16 magnitudes, look up a 0.
    const auto index = hn::Add(magnitude, hn::Set(d, std::uint8_t{112}));
    const auto fours = hn::Sub(index, hn::TableLookupBytesOr0(hn::LoadDup128(d, kBelowNormal), index));
    const auto sixty_fours = hn::BitCast(d, hn::IfThenZeroElse(is_zero, hn::Set(ds, static_cast<std::int8_t>(245))));
    put_words(hn::InterleaveLower(d, fours, sixty_fours), words);
    put_words(hn::InterleaveUpper(d, fours, sixty_fours), words + kBytesAtOnce / 2);
  }

  static HWY_INLINE void put_words(hn::Vec<BlockBytes> pairs, std::uint16_t* words) {
    const auto weights = hn::BitCast(BlockBytes(), hn::Set(BlockWords(), std::uint16_t{64 << 8 | 4}));
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    const hn::Vec<BlockWords> sums{_mm256_maddubs_epi16(pairs.raw, weights.raw)};
#else
    const hn::Vec<BlockWords> sums{_mm_maddubs_epi16(pairs.raw, weights.raw)};
#endif
    hn::Store(sums, BlockWords(), words);
  }

  hn::Vec<BlockSignedBytes> threshold_;
  hn::Vec<BlockSignedBytes> greatest_;
  Counter<BlockSignedBytes> zeros_;
  Counter<BlockSignedBytes> below_;
};

/// The sums of the squares of what words stand for.
class E5M2Squares {
  static constexpr std::size_t kLanes = hn::MaxLanes(BlockDoubles());
  static constexpr std::size_t kSums = kBlock / kLanes;

 public:
  HWY_INLINE E5M2Squares() {
#pragma GCC unroll kUnroll
    for (auto& sum : sums_) sum = hn::Zero(BlockDoubles());
  }

  /// Of a block. Reads three words before it, too: a word shifted to the upper end of a double is a load from before
  /// it, which costs less than a shuffle.
  HWY_INLINE void take(const std::uint16_t* words) {
    const BlockQuads d;
#pragma GCC unroll kUnroll
    for (std::size_t i = 0; i < kSums; i += 4, words += 4 * kLanes) {
      add(sums_[i], hn::ShiftLeft<48>(hn::BitCast(d, hn::Load(BlockWords(), words))));
      add(sums_[i + 1], upper_of(words - 2));
      add(sums_[i + 2], upper_of(words - 1));
      add(sums_[i + 3], upper_of(words));
    }
  }

  HWY_INLINE double sum() const {
    double sums[kBlock];
    for (std::size_t i = 0; i < kSums; ++i) {
      HWY_ALIGN double lanes[kLanes];
      hn::Store(sums_[i], BlockDoubles(), lanes);
      for (std::size_t j = 0; j < kLanes; ++j) sums[position_of(i, j)] = lanes[j];
    }
    for (std::size_t half = kBlock / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
  }

 private:
  /// In a block, of the elements that a lane of a sum holds: 16 bytes are interleaved by themselves.
  static constexpr std::size_t position_of(std::size_t sum, std::size_t lane) {
    return sum / 8 * kBytesAtOnce + lane / 2 * 16 + sum % 8 / 4 * 8 + lane % 2 * 4 + sum % 4;
  }

  static HWY_INLINE hn::Vec<BlockQuads> upper_of(const std::uint16_t* words) {
    const BlockQuads d;
    return hn::And(hn::BitCast(d, hn::LoadU(BlockWords(), words)), hn::Set(d, 0xffff000000000000u));
  }

  static HWY_INLINE void add(hn::Vec<BlockDoubles>& sum, hn::Vec<BlockQuads> bits) {
    const auto value = hn::BitCast(BlockDoubles(), bits);
    sum = hn::MulAdd(value, value, sum);
  }

  hn::Vec<BlockDoubles> sums_[kSums];
};

class E5M2Observer {
 public:
  explicit HWY_INLINE E5M2Observer(const Recipe& recipe) : bytes_(recipe) {}

  /// REQUIRES: at most kMostBlocks.
  HWY_INLINE void take(const std::uint8_t* at, std::size_t blocks) {
    HWY_ALIGN std::uint16_t room[kBefore + kMostBlocks * kBlock];
    std::uint16_t* const words = room + kBefore;
    for (std::size_t i = 0; i < blocks; ++i) bytes_.take(at + i * kBlock, words + i * kBlock);
    bytes_.empty_counters();
    for (std::size_t i = 0; i < blocks; ++i) squares_.take(words + i * kBlock);
  }

  HWY_INLINE void finish(std::uint32_t padding, Found& found) const {
    bytes_.finish(padding, found);
    found.sum_of_squares = found.max_pattern >= kInfinite ? __builtin_inf() : squares_.sum();
  }

  static constexpr std::size_t kMostBlocks = 64;

 private:
  static constexpr std::size_t kBefore = 16;  // so that the words start where a vector may
  static constexpr std::uint64_t kInfinite = 0x7c;

  E5M2Bytes bytes_;
  E5M2Squares squares_;
};

inline void observe_e5m2_piece(const void* in, void*, std::uint32_t count, const Recipe& recipe, Found& found) {
  const auto* at = static_cast<const std::uint8_t*>(in);
  if (count <= kSmall) return observe_small<F8E5M2>(at, count, recipe, found);
  E5M2Observer observer(recipe);
  for (std::size_t left = count / kBlock; left > 0;) {
    const std::size_t blocks = left < E5M2Observer::kMostBlocks ? left : E5M2Observer::kMostBlocks;
    observer.take(at, blocks);
    at += blocks * kBlock;
    left -= blocks;
  }
  const std::uint32_t rest = count % kBlock;
  if (rest != 0) {
    PaddedBlock<F8E5M2> block;
    block.take(at, rest);
    observer.take(block.elements, 1);
  }
  observer.finish(rest != 0 ? static_cast<std::uint32_t>(kBlock) - rest : 0, found);
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
