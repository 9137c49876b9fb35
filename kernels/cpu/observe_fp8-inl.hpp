// The statistics of fp8. There is an element in every byte that is read, so that little may be done with each: a
// position's squares are added in float for a run of blocks before they go on in double (fold.hpp), and where vectors
// can multiply bytes, floats are made of them without conversions.
//
// The upper 16 bits of a float have room for all of a magnitude m. They are kStep m + 128 (127 - bias), but for
// denormals and 0. All of them are kStep (m + 112 - below_normal(m)) + 64 kRest, two products and a sum of bytes, once
// the kRest of a 0 has been cleared.
#pragma once

#include "kernels/cpu/observe-inl.hpp"
#include "kernels/fold.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

/// A block of 32 elements is one vector of bytes, two where vectors are narrow.
using BlockBytes = hn::CappedTag<std::uint8_t, kBlock>;
using BlockSignedBytes = hn::RebindToSigned<BlockBytes>;

inline constexpr std::size_t kBytesAtOnce = hn::MaxLanes(BlockBytes());

#if HWY_TARGET == HWY_SCALAR

template <class E>
class Fp8Squares {
 public:
  /// Of the element at `position` of a block.
  void take(std::size_t position, hn::Vec<BlockBytes> magnitude, hn::Mask<BlockSignedBytes>) {
    const std::uint8_t bits = hn::GetLane(magnitude);
    const float value = hn::GetLane(load_float(E(), hn::ScalableTag<float>(), &bits));
    runs_[position] += value * value;
  }

  void end_run() {
    for (std::size_t i = 0; i < kBlock; ++i) {
      sums_[i] += static_cast<double>(runs_[i]);
      runs_[i] = 0;
    }
  }

  /// By position.
  void store(double* sums) const { __builtin_memcpy(sums, sums_, sizeof sums_); }

 private:
  float runs_[kBlock] = {};
  double sums_[kBlock] = {};
};

#else

using BlockWords = hn::Repartition<std::uint16_t, BlockBytes>;
using BlockFloats = hn::Repartition<float, BlockBytes>;
using BlockDoubles = hn::Repartition<double, BlockBytes>;

template <class E>
struct UpperHalves {
  static constexpr int kMantissaBits = E::id == F8E4M3::id ? 3 : 2;
  static constexpr int kBias = E::id == F8E4M3::id ? 7 : 15;
  static constexpr int kStep = 1 << (7 - kMantissaBits);
  static constexpr int kRest = ((127 - kBias) * 128 - 112 * kStep) / 64;
  static constexpr float kLeast = 1.0f / (1 << (kBias - 1 + kMantissaBits));

  struct Table {
    alignas(16) std::uint8_t entries[16];
  };
  /// For the first 16 magnitudes, some of which are normal.
  static consteval Table below_normal() {
    Table table = {{112}};
    for (int m = 1; m < 1 << kMantissaBits; ++m) {
      const int half = static_cast<int>(__builtin_bit_cast(std::uint32_t, static_cast<float>(m) * kLeast) >> 16);
      table.entries[m] = static_cast<std::uint8_t>(m + 112 - (half - 64 * kRest) / kStep);
    }
    return table;
  }
};

template <class E>
class Fp8Squares {
  static constexpr std::size_t kLanes = hn::MaxLanes(BlockFloats());
  static constexpr std::size_t kRuns = kBlock / kLanes;
  static constexpr std::size_t kHalf = kLanes / 2;
  static constexpr auto kBelowNormal = UpperHalves<E>::below_normal();

 public:
  HWY_INLINE Fp8Squares() {
#pragma GCC unroll kUnroll
    for (auto& run : runs_) run = hn::Zero(BlockFloats());
  }

  /// Of the `part`-th vector of a block.
  HWY_INLINE void take(std::size_t part, hn::Vec<BlockBytes> magnitude, hn::Mask<BlockSignedBytes> is_zero) {
    const BlockBytes d;
    const BlockSignedBytes ds;
    // Indices from 128 on, of all but the first 16 magnitudes, look up a 0.
    const auto index = hn::Add(magnitude, hn::Set(d, std::uint8_t{112}));
    const auto table = hn::LoadDup128(d, kBelowNormal.entries);
    const auto steps = hn::Sub(index, hn::TableLookupBytesOr0(table, index));
    const auto all_rest = hn::Set(ds, static_cast<std::int8_t>(UpperHalves<E>::kRest));
    const auto rest = hn::BitCast(d, hn::IfThenZeroElse(is_zero, all_rest));
    add_squares(runs_ + part * 4, halves_of(hn::InterleaveLower(d, steps, rest)));
    add_squares(runs_ + part * 4 + 2, halves_of(hn::InterleaveUpper(d, steps, rest)));
  }

  HWY_INLINE void end_run() {
    const BlockDoubles dd;
    for (std::size_t i = 0; i < kRuns; ++i) {
      HWY_ALIGN float lanes[kLanes];
      hn::Store(runs_[i], BlockFloats(), lanes);
      runs_[i] = hn::Zero(BlockFloats());
      for (double* sums : {sums_[i], sums_[i] + kHalf}) {
        const auto run = hn::PromoteTo(dd, hn::Load(hn::Rebind<float, BlockDoubles>(), lanes + (sums - sums_[i])));
        hn::Store(hn::Add(hn::Load(dd, sums), run), dd, sums);
      }
    }
  }

  /// By position.
  HWY_INLINE void store(double* sums) const {
    for (std::size_t i = 0; i < kRuns; ++i) {
      for (std::size_t j = 0; j < kLanes; ++j) sums[position_of(i, j)] = sums_[i][j];
    }
  }

 private:
  /// In a block, of what a lane of a run holds: 16 bytes are interleaved by themselves.
  static constexpr std::size_t position_of(std::size_t run, std::size_t lane) {
    return run / 4 * kBytesAtOnce + lane / 4 * 16 + run % 4 / 2 * 8 + lane % 4 * 2 + run % 2;
  }

  static HWY_INLINE hn::Vec<BlockWords> halves_of(hn::Vec<BlockBytes> pairs) {
    const hn::Repartition<std::uint16_t, BlockBytes> d16;
    const auto weights = hn::BitCast(BlockBytes(), hn::Set(d16, std::uint16_t{64 << 8 | UpperHalves<E>::kStep}));
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    return hn::Vec<BlockWords>{_mm256_maddubs_epi16(pairs.raw, weights.raw)};
#else
    return hn::Vec<BlockWords>{_mm_maddubs_epi16(pairs.raw, weights.raw)};
#endif
  }

  /// Of the floats whose upper halves these are: those at even places, those at odd ones.
  static HWY_INLINE void add_squares(hn::Vec<BlockFloats>* runs, hn::Vec<BlockWords> halves) {
    const hn::RebindToUnsigned<BlockFloats> du;
    const auto words = hn::BitCast(du, halves);
    add_square(runs[0], hn::ShiftLeft<16>(words));
    add_square(runs[1], hn::And(words, hn::Set(du, 0xffff0000u)));
  }

  static HWY_INLINE void add_square(hn::Vec<BlockFloats>& run, hn::Vec<hn::RebindToUnsigned<BlockFloats>> bits) {
    const auto value = hn::BitCast(BlockFloats(), bits);
    run = hn::MulAdd(value, value, run);
  }

  hn::Vec<BlockFloats> runs_[kRuns];
  HWY_ALIGN double sums_[kRuns][kLanes] = {};
};

#endif

/// Counts nothing: no magnitude lies between 0 and the threshold.
struct NoCounter {
  HWY_INLINE void add(hn::Mask<BlockSignedBytes>) {}
  HWY_INLINE void empty() {}
  HWY_INLINE std::uint32_t count() const { return 0; }
};

template <class E, class Below>
class Fp8Observer {
 public:
  HWY_INLINE Fp8Observer(const Recipe& recipe, std::uint32_t piece_elements)
      : prefetcher_(piece_elements),
        threshold_(hn::Set(BlockSignedBytes(), static_cast<std::int8_t>(recipe.threshold_pattern[E::id]))),
        greatest_(hn::Zero(BlockSignedBytes())) {}

  /// Blocks of one run.
  HWY_INLINE void take(const std::uint8_t* at, std::size_t blocks) {
    for (; blocks >= 2; blocks -= 2, at += 2 * kBlock) {
      prefetcher_.template advance<2 * kBlock>(at);
      take_block(at);
      take_block(at + kBlock);
    }
    if (blocks != 0) take_block(at);
  }

  HWY_INLINE void end_run() {
    squares_.end_run();
    zeros_.empty();
    below_.empty();
  }

  /// `padding`: how many of the elements taken were zeros of the caller's own.
  HWY_INLINE void finish(std::uint32_t padding, Found& found) {
    end_run();
    HWY_ALIGN std::int8_t lanes[kBytesAtOnce];
    hn::Store(greatest_, BlockSignedBytes(), lanes);
    std::int8_t greatest = 0;
    for (const std::int8_t lane : lanes) greatest = lane > greatest ? lane : greatest;
    found.max_pattern = static_cast<std::uint8_t>(greatest);
    found.below = below_.count() > zeros_.count() ? below_.count() - zeros_.count() : 0;
    found.zeros = zeros_.count() - padding;
    found.sum_of_squares = is_infinite(E(), greatest) ? __builtin_inf() : sum();
  }

 private:
  static HWY_INLINE bool is_infinite(F8E4M3, std::int8_t) { return false; }
  static HWY_INLINE bool is_infinite(F8E5M2, std::int8_t magnitude) { return magnitude >= 0x7c; }

  HWY_INLINE void take_block(const std::uint8_t* at) {
#pragma GCC unroll kUnroll
    for (std::size_t i = 0; i < kBlock / kBytesAtOnce; ++i) take_vector(i, at + i * kBytesAtOnce);
  }

  HWY_INLINE void take_vector(std::size_t part, const std::uint8_t* at) {
    const BlockBytes d;
    const BlockSignedBytes ds;
    const auto magnitude = hn::And(hn::LoadU(d, at), hn::Set(d, std::uint8_t{0x7f}));
    const auto as_signed = hn::BitCast(ds, magnitude);
    const auto is_zero = hn::Eq(as_signed, hn::Zero(ds));
    greatest_ = hn::Max(greatest_, as_signed);
    zeros_.add(is_zero);
    below_.add(hn::Lt(as_signed, threshold_));
    squares_.take(part, magnitude, is_zero);
  }

  HWY_INLINE double sum() const {
    double sums[kBlock];
    squares_.store(sums);
    return added_as_tree(sums);
  }

  Prefetcher prefetcher_;
  hn::Vec<BlockSignedBytes> threshold_;
  hn::Vec<BlockSignedBytes> greatest_;
  Counter<BlockSignedBytes> zeros_;
  Below below_;
  Fp8Squares<E> squares_;
};

// Not inlined: beside other code the compiler would run out of registers.
template <class E, class Below>
HWY_NOINLINE void observe_fp8_blocks(const std::uint8_t* at, std::uint32_t count, const Recipe& recipe, Found& found) {
  Fp8Observer<E, Below> observer(recipe, count);
  for (std::size_t left = count / kBlock; left > 0;) {
    const std::size_t blocks = left < kRunBlocks ? left : kRunBlocks;
    observer.take(at, blocks);
    if (blocks == kRunBlocks) observer.end_run();
    at += blocks * kBlock;
    left -= blocks;
  }
  const std::uint32_t rest = count % kBlock;
  if (rest != 0) {
    PaddedBlock<E> block;
    block.take(at, rest);
    observer.take(block.elements, 1);
  }
  observer.finish(rest != 0 ? static_cast<std::uint32_t>(kBlock) - rest : 0, found);
}

template <class E>
void observe_fp8_piece(const void* in, void*, std::uint32_t count, const Recipe& recipe, Found& found) {
  const auto* at = static_cast<const std::uint8_t*>(in);
  if (count <= kSmall) return observe_small<E>(at, count, recipe, found);
  if (recipe.threshold_pattern[E::id] <= 1) return observe_fp8_blocks<E, NoCounter>(at, count, recipe, found);
  observe_fp8_blocks<E, Counter<BlockSignedBytes>>(at, count, recipe, found);
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
