// The statistics of a piece, equal in every bit on every instruction set: elements are taken in blocks of 32, each
// position of a block has an accumulator of its own, in double, whatever the width of the vectors, and the accumulators
// are added up as a tree (16 and 16, 8 and 8 ...). For bf16 those of even positions come first, then those of odd ones.
// Squares of f32 and narrower are exact in double, so that it makes no difference whether the instruction set fuses
// square and sum; for f64 they are never fused.
//
// Everything else is integer work on the bits without the sign: the greatest pattern is the greatest magnitude and
// tells of infinities and NaN as well.
#pragma once

#include "kernels/cpu/elements-inl.hpp"
#include "kernels/cpu/small-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

inline constexpr std::size_t kBlock = 32;

// All of a block, but for single elements, where that makes much code for nothing.
#if HWY_TARGET == HWY_SCALAR
inline constexpr int kUnroll = 4;
#else
inline constexpr int kUnroll = 32;
#endif

/// Asks for memory before it is needed: a CPU that also calculates does not look far enough ahead by itself. Behind
/// pieces that are small there may be anything: theirs is left to the CPU.
class Prefetcher {
  static constexpr std::size_t kAhead = 2560;
  static constexpr std::size_t kLine = 64;

 public:
  explicit HWY_INLINE Prefetcher(std::size_t piece_bytes) : ahead_(piece_bytes < 8 * kAhead ? 0 : kAhead) {}

  /// To be called for each of the blocks, which are `kBytes` long.
  template <std::size_t kBytes>
  HWY_INLINE void advance(const void* block) const {
    const auto from = reinterpret_cast<std::uintptr_t>(block) + ahead_;
#pragma GCC unroll kUnroll
    for (std::size_t i = 0; i < kBytes; i += kLine) __builtin_prefetch(reinterpret_cast<const void*>(from + i));
  }

 private:
  std::size_t ahead_;
};

// How often a comparison held.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SCALAR

// Masks are scalars there, and counting their bits leaves the vector units to the rest.
template <class DB>
class Counter {
 public:
  static constexpr std::size_t kMostVectors = ~std::size_t{0};

  HWY_INLINE void add(hn::Mask<DB> mask) { count_ += static_cast<std::uint32_t>(hn::CountTrue(DB(), mask)); }
  HWY_INLINE void empty() {}
  HWY_INLINE std::uint32_t count() const { return count_; }

 private:
  std::uint32_t count_ = 0;
};

#else

// One narrow counter a lane; after so many vectors they must be emptied into a wide one.
template <class DB>
class Counter {
  using Bits = hn::TFromD<DB>;
  using Unsigned = hwy::MakeUnsigned<Bits>;

 public:
  static constexpr std::size_t kMostVectors = static_cast<Unsigned>(~Unsigned{0});

  HWY_INLINE Counter() : lanes_(hn::Zero(DB())) {}
  HWY_INLINE void add(hn::Mask<DB> mask) { lanes_ = hn::Sub(lanes_, hn::VecFromMask(DB(), mask)); }
  HWY_INLINE void empty() {
    if constexpr (sizeof(Bits) == 1) {
      const hn::RebindToUnsigned<DB> bytes;
      const auto eights = hn::SumsOf8(hn::BitCast(bytes, lanes_));
      count_ += static_cast<std::uint32_t>(hn::GetLane(hn::SumOfLanes(hn::Repartition<std::uint64_t, DB>(), eights)));
      lanes_ = hn::Zero(DB());
      return;
    }
    HWY_ALIGN Bits lanes[hn::MaxLanes(DB())];
    hn::Store(lanes_, DB(), lanes);
    for (const Bits lane : lanes) count_ += static_cast<std::uint32_t>(static_cast<Unsigned>(lane));
    lanes_ = hn::Zero(DB());
  }
  HWY_INLINE std::uint32_t count() const { return count_; }

 private:
  hn::Vec<DB> lanes_;
  std::uint32_t count_ = 0;
};

#endif

/// Adds them up in place, halves of them at a time.
template <std::size_t kCount>
HWY_INLINE double added_as_tree(double (&sums)[kCount]) {
  for (std::size_t half = kCount / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

template <class E>
class Observer {
  using DB = hn::CappedTag<typename E::Bits, kBlock>;
  using DD = hn::ScalableTag<double>;
  using Bits = typename E::Bits;
  static constexpr std::size_t kBitLanes = hn::MaxLanes(DB());
  static constexpr std::size_t kDoubleLanes = hn::MaxLanes(DD());
  static constexpr std::size_t kSums = kBlock / kDoubleLanes;

 public:
  /// After so many blocks the counters must be emptied.
  static constexpr std::size_t kMostBlocks = Counter<DB>::kMostVectors / (kBlock / kBitLanes);

  HWY_INLINE Observer(const Recipe& recipe, std::uint32_t piece_elements)
      : prefetcher_(piece_elements * sizeof(Bits)),
        threshold_(hn::Set(DB(), static_cast<Bits>(recipe.threshold_pattern[E::id]))),
        max_(hn::Zero(DB())) {
#pragma GCC unroll kUnroll
    for (auto& sum : sums_) sum = hn::Zero(DD());
  }

  /// Takes the 32 elements at `at`.
  HWY_INLINE void take(const typename E::Storage* at) {
    const DB db;
    const auto zero = hn::Zero(db);
    const auto magnitude_mask = hn::Set(db, E::magnitude);
    prefetcher_.template advance<kBlock * sizeof(Bits)>(at);
#pragma GCC unroll kUnroll
    for (std::size_t i = 0; i < kBlock; i += kBitLanes) {
      const auto magnitude = hn::And(hn::LoadU(db, reinterpret_cast<const Bits*>(at) + i), magnitude_mask);
      max_ = hn::Max(max_, magnitude);
      zeros_.add(hn::Eq(magnitude, zero));
      below_.add(hn::Lt(magnitude, threshold_));
    }
    add_squares(E(), at);
  }

  HWY_INLINE void empty_counters() {
    zeros_.empty();
    below_.empty();
  }

  /// Whether nothing that was taken is infinite or NaN.
  HWY_INLINE bool all_finite() const {
    return hn::AllTrue(DB(), hn::Lt(max_, hn::Set(DB(), E::infinite)));
  }

  /// `padding`: how many of the elements taken were zeros of the caller's own.
  HWY_INLINE void finish(std::uint32_t padding, Found& found) {
    empty_counters();
    HWY_ALIGN Bits greatest[kBitLanes];
    hn::Store(max_, DB(), greatest);
    Bits max = 0;
    for (const Bits bits : greatest) max = bits > max ? bits : max;
    const std::uint32_t zeros = zeros_.count();
    const std::uint32_t below = below_.count();
    found.max_pattern = static_cast<hwy::MakeUnsigned<Bits>>(max);
    found.below = below > zeros ? below - zeros : 0;  // below a threshold of 0 there are not even zeros
    found.zeros = zeros - padding;
    found.sum_of_squares = sum();
  }

 private:
  template <class Any>
  HWY_INLINE void add_squares(Any, const typename E::Storage* at) {
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

#if HWY_TARGET == HWY_SCALAR
  HWY_INLINE void add_squares(BF16, const std::uint16_t* at) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      const auto value = load_double(E(), DD(), at + i);
      sums_[i % 2 * (kBlock / 2) + i / 2] = hn::MulAdd(value, value, sums_[i % 2 * (kBlock / 2) + i / 2]);
    }
  }
#else
  // Two elements are loaded as one word and cost one operation each to become floats.
  HWY_INLINE void add_squares(BF16, const std::uint16_t* at) {
    const hn::Rebind<float, DD> df;
    const Bits32<DD> du;
#pragma GCC unroll kUnroll
    for (std::size_t i = 0; i < kSums / 2; ++i) {
      const auto words = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(at) + i * kDoubleLanes);
      add_square(i, hn::BitCast(df, hn::ShiftLeft<16>(words)));
      add_square(i + kSums / 2, hn::BitCast(df, hn::And(words, hn::Set(du, 0xffff0000u))));
    }
  }

  HWY_INLINE void add_square(std::size_t sum, hn::Vec<hn::Rebind<float, DD>> value) {
    const auto wide = hn::PromoteTo(DD(), value);
    sums_[sum] = hn::MulAdd(wide, wide, sums_[sum]);
  }
#endif

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
    return added_as_tree(lanes);
  }

  Prefetcher prefetcher_;
  hn::Vec<DB> threshold_;
  hn::Vec<DB> max_;
  Counter<DB> zeros_;
  Counter<DB> below_;
  hn::Vec<DD> sums_[kSums];
};

/// The last elements of a piece, filled up with zeros to a block; and the way back.
template <class E>
struct PaddedBlock {
  using T = typename E::Storage;
  HWY_ALIGN T elements[kBlock];

// Where the instruction set can move a part of a vector, the block is written and read in the same whole vectors: a CPU
// is slow to read a vector out of smaller stores, and lists of tiny tensors do nothing else.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  static constexpr bool kMasked = HWY_TARGET == HWY_AVX3 || sizeof(T) >= 4;
#else
  static constexpr bool kMasked = false;
#endif
  using D = hn::CappedTag<T, kBlock>;
  static constexpr std::size_t kLanes = hn::MaxLanes(D());

  HWY_INLINE void take(const T* from, std::size_t count) {
    if constexpr (kMasked) {
#pragma GCC unroll kUnroll
      for (std::size_t i = 0; i < kBlock; i += kLanes) {
        hn::Store(hn::MaskedLoad(lanes_of(count, i), D(), from + i), D(), elements + i);
      }
    } else {
      __builtin_memset(elements, 0, sizeof elements);
      __builtin_memcpy(elements, from, count * sizeof *from);
    }
  }

  HWY_INLINE void give(T* to, std::size_t count) const {
    __builtin_memcpy(to, elements, count * sizeof *to);
  }

 private:
  static HWY_INLINE hn::Mask<D> lanes_of(std::size_t count, std::size_t first) {
    const std::size_t left = count > first ? count - first : 0;
    return hn::FirstN(D(), left < kLanes ? left : kLanes);
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
  if (count <= kSmall) return observe_small<E>(at, count, recipe, found);
  Observer<E> observer(recipe, count);
  for_blocks(count / kBlock, observer, [&]() HWY_ATTR {
    observer.take(at);
    at += kBlock;
  });
  const std::uint32_t rest = count % kBlock;
  if (rest != 0) {
    PaddedBlock<E> block;
    block.take(at, rest);
    observer.take(block.elements);
  }
  observer.finish(rest != 0 ? static_cast<std::uint32_t>(kBlock) - rest : 0, found);
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
