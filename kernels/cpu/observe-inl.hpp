// The statistics of a piece, equal in every bit on every instruction set: elements are taken in blocks of 32, each
// position of a block has an accumulator of its own, in double, whatever the width of the vectors, and the accumulators
// are added up as a tree (16 and 16, 8 and 8 ...). Squares of f32 and narrower are exact in double, so that it makes no
// difference whether the instruction set fuses square and sum; for f64 they are never fused.
//
// Everything else is integer work on the bits without the sign: the greatest pattern is the greatest magnitude and
// tells of infinities and NaN as well.
#pragma once

#include "kernels/cpu/elements-inl.hpp"
#include "kernels/cpu/piece.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

inline constexpr std::size_t kBlock = 32;

// All of a block, but for single elements, where that makes much code for nothing.
inline constexpr int kUnroll = HWY_TARGET == HWY_SCALAR ? 4 : 32;

template <class E>
class Observer {
  using DB = hn::CappedTag<typename E::Bits, kBlock>;
  using DD = hn::ScalableTag<double>;
  using Bits = typename E::Bits;
  using Unsigned = hwy::MakeUnsigned<Bits>;
  static constexpr std::size_t kBitLanes = hn::MaxLanes(DB());
  static constexpr std::size_t kDoubleLanes = hn::MaxLanes(DD());
  static constexpr std::size_t kSums = kBlock / kDoubleLanes;

 public:
  /// The counters are as narrow as the elements; after so many blocks they must be emptied.
  static constexpr std::size_t kMostBlocks = static_cast<Unsigned>(~Unsigned{0}) / (kBlock / kBitLanes);

  explicit HWY_INLINE Observer(const Recipe& recipe)
      : threshold_(hn::Set(DB(), static_cast<Bits>(recipe.threshold_pattern[E::id]))),
        max_(hn::Zero(DB())),
        zeros_(hn::Zero(DB())),
        below_(hn::Zero(DB())) {
#pragma GCC unroll kUnroll
    for (std::size_t i = 0; i < kSums; ++i) sums_[i] = hn::Zero(DD());
  }

  /// Takes the 32 elements at `at`.
  HWY_INLINE void take(const typename E::Storage* at) {
    const DB db;
    const auto zero = hn::Zero(db);
    const auto magnitude_mask = hn::Set(db, E::magnitude);
#pragma GCC unroll kUnroll
    for (std::size_t i = 0; i < kBlock; i += kBitLanes) {
      const auto magnitude = hn::And(hn::LoadU(db, reinterpret_cast<const Bits*>(at) + i), magnitude_mask);
      max_ = hn::Max(max_, magnitude);
      zeros_ = hn::Sub(zeros_, hn::VecFromMask(db, hn::Eq(magnitude, zero)));
      below_ = hn::Sub(below_, hn::VecFromMask(db, hn::Lt(magnitude, threshold_)));
    }
#pragma GCC unroll kUnroll
    for (std::size_t i = 0; i < kSums; ++i) {
      const auto value = load_double(E(), DD(), at + i * kDoubleLanes);
      if constexpr (sizeof(Bits) == 8) {
        sums_[i] = hn::Add(sums_[i], hn::Mul(value, value));
      } else {
        sums_[i] = hn::MulAdd(value, value, sums_[i]);
      }
    }
  }

  HWY_INLINE void empty_counters() {
    zero_count_ += total_of(zeros_);
    below_count_ += total_of(below_);
    zeros_ = hn::Zero(DB());
    below_ = hn::Zero(DB());
  }

  /// `padding`: how many of the elements taken were zeros of the caller's own.
  HWY_INLINE void finish(std::uint32_t padding, Found& found) {
    empty_counters();
    HWY_ALIGN Bits greatest[kBitLanes];
    hn::Store(max_, DB(), greatest);
    Bits max = 0;
    for (std::size_t i = 0; i < kBitLanes; ++i) max = greatest[i] > max ? greatest[i] : max;
    found.max_pattern = static_cast<std::uint64_t>(max);
    found.below = below_count_ > zero_count_ ? below_count_ - zero_count_ : 0;  // a threshold of 0 has not even zeros
    found.zeros = zero_count_ - padding;
    found.sum_of_squares = sum();
  }

 private:
  // Indices known when compiling: otherwise the sums would live in memory instead of registers.
  template <std::size_t kHalf>
  HWY_INLINE void fold_sums() {
    if constexpr (kHalf > 0) {
#pragma GCC unroll kUnroll
      for (std::size_t i = 0; i < kHalf; ++i) sums_[i] = hn::Add(sums_[i], sums_[i + kHalf]);
      fold_sums<kHalf / 2>();
    }
  }

  HWY_INLINE double sum() {
    fold_sums<kSums / 2>();
    HWY_ALIGN double lanes[kDoubleLanes];
    hn::Store(sums_[0], DD(), lanes);
    for (std::size_t half = kDoubleLanes / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
  }

  static HWY_INLINE std::uint32_t total_of(hn::Vec<DB> counters) {
    HWY_ALIGN Bits lanes[kBitLanes];
    hn::Store(counters, DB(), lanes);
    std::uint32_t total = 0;
    for (std::size_t i = 0; i < kBitLanes; ++i) total += static_cast<std::uint32_t>(static_cast<Unsigned>(lanes[i]));
    return total;
  }

  hn::Vec<DB> threshold_;
  hn::Vec<DB> max_;
  hn::Vec<DB> zeros_;
  hn::Vec<DB> below_;
  hn::Vec<DD> sums_[kSums];
  std::uint32_t zero_count_ = 0;
  std::uint32_t below_count_ = 0;
};

/// The last elements of a piece, filled up with zeros to a block.
template <class E>
struct PaddedBlock {
  HWY_ALIGN typename E::Storage elements[kBlock];

  HWY_INLINE PaddedBlock(const typename E::Storage* from, std::size_t count) {
    __builtin_memset(elements, 0, sizeof elements);
    __builtin_memcpy(elements, from, count * sizeof *from);
  }
};

/// Calls `take` for each of so many blocks and empties the observer's counters in time.
template <class E, class Take>
HWY_INLINE void for_blocks(std::size_t blocks, Observer<E>& observer, Take take) {
  while (blocks > 0) {
    const std::size_t stretch = blocks < Observer<E>::kMostBlocks ? blocks : Observer<E>::kMostBlocks;
    for (std::size_t i = 0; i < stretch; ++i) take();
    observer.empty_counters();
    blocks -= stretch;
  }
}

template <class E>
void observe_piece(const void* in, void*, std::uint32_t count, const Recipe& recipe, Found& found) {
  const auto* at = static_cast<const typename E::Storage*>(in);
  Observer<E> observer(recipe);
  for_blocks(count / kBlock, observer, [&]() HWY_ATTR {
    observer.take(at);
    at += kBlock;
  });
  const std::uint32_t rest = count % kBlock;
  if (rest != 0) observer.take(PaddedBlock<E>(at, rest).elements);
  observer.finish(rest != 0 ? static_cast<std::uint32_t>(kBlock) - rest : 0, found);
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
