// What is counted in a piece, all of it integer work on the bits without the sign: the greatest pattern is the greatest
// magnitude and tells of infinities and NaN as well.
#pragma once

#include <type_traits>

#include "kernels/cpu/piece.hpp"
#include "kernels/cpu/prefetch-inl.hpp"
#include "kernels/cpu/values-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

/// How often a comparison held.
template <class DB>
class MaskCounter {
 public:
  HWY_INLINE void add(hn::Mask<DB> mask) { count_ += static_cast<std::uint32_t>(hn::CountTrue(DB(), mask)); }
  HWY_INLINE void add(const MaskCounter& other) { count_ += other.count_; }
  HWY_INLINE std::uint32_t count() const { return count_; }

 private:
  std::uint32_t count_ = 0;
};

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SCALAR

// Masks are scalars there, and counting their bits leaves the vector units to the rest.
template <class DB>
using Counter = MaskCounter<DB>;

#else

/// As MaskCounter, with a counter for each lane, as wide as the lane.
template <class DB>
class LaneCounter {
  using Unsigned = hwy::MakeUnsigned<hn::TFromD<DB>>;
  static constexpr std::size_t most_vectors = together * piece_elements(sizeof(hn::TFromD<DB>)) / lanes_of<DB>;
  static_assert(static_cast<Unsigned>(most_vectors) == most_vectors);

 public:
  HWY_INLINE LaneCounter() : lanes_(hn::Zero(DB())) {}
  HWY_INLINE void add(hn::Mask<DB> mask) { lanes_ = hn::Sub(lanes_, hn::VecFromMask(DB(), mask)); }
  HWY_INLINE void add(const LaneCounter& other) { lanes_ = hn::Add(lanes_, other.lanes_); }
  HWY_INLINE std::uint32_t count() const {
    HWY_ALIGN hn::TFromD<DB> lanes[lanes_of<DB>];
    hn::Store(lanes_, DB(), lanes);
    std::uint32_t count = 0;
    for (const auto lane : lanes) count += static_cast<std::uint32_t>(static_cast<Unsigned>(lane));
    return count;
  }

 private:
  Kept<DB> lanes_;
};

// A byte is soon full.
template <class DB>
using Counter = std::conditional_t<sizeof(hn::TFromD<DB>) == 1, MaskCounter<DB>, LaneCounter<DB>>;

#endif

/// Counts nothing.
template <class>
struct NoCounter {
  template <class T>
  HWY_INLINE void add(const T&) {}
  HWY_INLINE std::uint32_t count() const { return 0; }
};

/// The greatest magnitude, zeros, and magnitudes below the threshold, of pieces that are observed together.
template <class E, template <class> class Below = Counter, class Blocks = OneBlock>
class Counts {
  using Bits = typename E::Bits;
  using DB = typename Blocks::template Tag<Bits>;
  static constexpr std::size_t lane_count = lanes_of<DB>;

 public:
  /// What is counted of a few blocks. It stays in registers only if it is nobody's member.
  class Tally {
   public:
    HWY_INLINE Tally() : greatest_(hn::Zero(DB())) {}

    HWY_INLINE bool all_below(Bits pattern) const {
      return hn::AllTrue(DB(), hn::Lt(greatest_, hn::Set(DB(), pattern)));
    }

   private:
    friend Counts;
    Kept<DB> greatest_;
    Counter<DB> positive_;
    Below<DB> below_;
  };

  /// Whether a magnitude, 0 aside, is below a pattern.
  static HWY_INLINE bool any_below(const typename E::Storage* at, std::size_t blocks, Bits pattern) {
    const DB db;
    const hn::RebindToUnsigned<DB> du;
    const auto limit = hn::Set(du, static_cast<hn::TFromD<decltype(du)>>(pattern - 1));
    auto least = limit;
    for (std::size_t i = 0; i < blocks * block_elements; i += lane_count) {
      const auto bits = hn::LoadU(db, reinterpret_cast<const Bits*>(at) + i);
      const auto magnitude = hn::And(bits, hn::Set(db, E::magnitude));
      least = hn::Min(least, hn::BitCast(du, hn::Sub(magnitude, hn::Set(db, Bits{1}))));  // 0 becomes the greatest
    }
    return !hn::AllTrue(du, hn::Eq(least, limit));
  }

  explicit HWY_INLINE Counts(const Recipe& recipe)
      : threshold_(hn::Set(DB(), static_cast<Bits>(recipe.threshold_pattern[E::id]))) {}

  /// Counts a block, or two.
  HWY_INLINE void take(const typename E::Storage* at, Tally& tally) const {
    const DB db;
#pragma GCC unroll unroll_count
    for (std::size_t i = 0; i < Blocks::elements; i += lane_count) {
      const auto bits = Blocks::load(reinterpret_cast<const Bits*>(at), i);
      const auto magnitude = hn::And(bits, hn::Set(db, E::magnitude));
      tally.greatest_ = hn::Max(tally.greatest_, magnitude);
      tally.positive_.add(is_positive<E, Blocks>(db, magnitude));
      tally.below_.add(hn::Lt(magnitude, threshold_));
    }
  }
  HWY_INLINE void add(const Tally& tally) {
    all_.greatest_ = hn::Max(all_.greatest_, tally.greatest_);
    all_.positive_.add(tally.positive_);
    all_.below_.add(tally.below_);
  }

  /// Several blocks; returns what they were.
  template <class Ahead>
  HWY_INLINE Tally take_all(const typename E::Storage* at, std::size_t blocks, const Ahead& ahead) {
    Tally tally;
#pragma GCC unroll 1
    for (std::size_t i = 0; i < blocks; ++i) {
      ahead.template advance<block_elements * sizeof *at>(at + i * block_elements);
      take(at + i * block_elements, tally);
    }
    add(tally);
    return tally;
  }

  /// Whether nothing that was taken is infinite or NaN.
  HWY_INLINE bool all_finite() const {
    return all_.all_below(E::infinite);
  }

  /// `count`: how many elements were taken, without zeros that filled up the last block.
  HWY_INLINE void finish(std::uint32_t count, Found& found) {
    HWY_ALIGN Bits lanes[lane_count];
    hn::Store(all_.greatest_, DB(), lanes);
    Bits greatest = 0;
    for (const Bits bits : lanes) greatest = bits > greatest ? bits : greatest;
    const auto taken = static_cast<std::uint32_t>((count + block_elements - 1) / block_elements * block_elements);
    const std::uint32_t zeros = taken - all_.positive_.count();
    const std::uint32_t below = all_.below_.count();
    found.max_pattern = static_cast<hwy::MakeUnsigned<Bits>>(greatest);
    found.below = below > zeros ? below - zeros : 0;  // below a threshold of 0 there are not even zeros
    found.zeros = zeros - (taken - count);
  }

 private:
  Kept<DB> threshold_;
  Tally all_;
};

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
