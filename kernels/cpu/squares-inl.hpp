// Sums of the squares of a piece, equal in every bit on every instruction set: elements are taken in blocks of 32, each
// position of a block has a sum of its own, whatever the width of the vectors, and the sums are added up as a tree
// (fold.hpp, where it is told how float and double share the work). All squares but those of f64 are exact: it makes no
// difference whether the instruction set fuses square and sum. For f64 they are never fused.
#pragma once

#include "kernels/cpu/counts-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

/// Adds them up in place, halves of them at a time.
template <std::size_t Count>
HWY_INLINE double added_as_tree(double (&sums)[Count]) {
  for (std::size_t half = Count / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

/// Sums stay in registers while blocks are taken only if they are nobody's members then.
template <class V, std::size_t Count>
HWY_INLINE void copy(const V (&from)[Count], V (&to)[Count]) {
#pragma GCC unroll unroll_count
  for (std::size_t i = 0; i < Count; ++i) to[i] = from[i];
}

/// What the runs of a piece have, one after another; neighbours are added first.
template <class E>
class RunSums {
  static constexpr std::size_t most = runs_of_piece(sizeof(typename E::Bits));

 public:
  HWY_INLINE void add(double sum) { sums_[count_++] = sum; }

  HWY_INLINE double added() const {
    double sums[most];
    copy(sums_, sums);
    for (std::size_t left = most / 2; left > 0; left /= 2) {
      for (std::size_t i = 0; i < left; ++i) sums[i] = sums[2 * i] + sums[2 * i + 1];
    }
    return sums[0];
  }

 private:
  std::size_t count_ = 0;
  double sums_[most] = {};  // what is missing adds nothing
};

/// Blocks of a piece before it is another one's turn.
template <class E>
inline constexpr std::size_t turn_blocks = 256 / (block_elements * sizeof(typename E::Bits));

/// For f32 and f64: sums in double from the start.
template <class E>
class Squares {
  using D = hn::ScalableTag<double>;
  static constexpr std::size_t lane_count = lanes_of<D>;
  static constexpr std::size_t sum_count = block_elements / lane_count;

 public:
  HWY_INLINE Squares() { clear(); }

  /// Takes blocks of one run and has them counted.
  template <class Counts, class Prefetcher>
  HWY_INLINE void take(const typename E::Storage* at, std::size_t blocks, Counts& counts, const Prefetcher& ahead) {
    while (blocks > 0) {
      const std::size_t part = blocks < turn_blocks<E> ? blocks : turn_blocks<E>;
      take_part(at, part, counts, ahead);
      at += part * block_elements;
      blocks -= part;
    }
  }
  HWY_INLINE void end_run() {
    HWY_ALIGN double sums[block_elements];
#pragma GCC unroll unroll_count
    for (std::size_t i = 0; i < sum_count; ++i) hn::Store(sums_[i], D(), sums + i * lane_count);
    run_sums_.add(added_as_tree(sums));
    clear();
  }

  HWY_INLINE double sum() const {
    return run_sums_.added();
  }

 private:
  HWY_INLINE void clear() {
#pragma GCC unroll unroll_count
    for (auto& sum : sums_) sum = hn::Zero(D());
  }

  /// Counts first, while the blocks come into the cache: both at once would need too many registers.
  template <class Counts, class Prefetcher>
  HWY_INLINE void take_part(const typename E::Storage* at, std::size_t blocks, Counts& counts,
                            const Prefetcher& ahead) {
    counts.take_all(at, blocks, ahead);
    Kept<D> sums[sum_count];
    copy(sums_, sums);
#pragma GCC unroll 1
    for (std::size_t i = 0; i < blocks; ++i) add_block(at + i * block_elements, sums);
    copy(sums, sums_);
  }

  static HWY_INLINE void add_block(const typename E::Storage* at, Kept<D> (&sums)[sum_count]) {
#pragma GCC unroll unroll_count
    for (std::size_t i = 0; i < sum_count; ++i) {
      const auto value = load_double(E(), D(), at + i * lane_count);
      sums[i] = E::id == F64::id ? hn::Add(sums[i], hn::Mul(value, value)) : hn::MulAdd(value, value, sums[i]);
    }
  }

  Kept<D> sums_[sum_count];
  RunSums<E> run_sums_;
};

/// For 8 and 16 bits: sums of a run in float, but for the squares of bf16 that fold.hpp has in double.
template <class E, class Blocks = OneBlock>
class RunSquares {
  using Values = BlockValues<E, Blocks>;
  using D = typename Values::D;
  using V = hn::Vec<D>;
  using Storage = typename E::Storage;
  static constexpr std::size_t lane_count = lanes_of<D>;
  static constexpr std::size_t elements = Blocks::elements;
  static constexpr std::size_t run_count = elements / lane_count;
  static constexpr std::size_t sorted = 32;  ///< blocks that are sorted at a time
  /// 2^exponent, squared.
  static constexpr double factor =
      __builtin_bit_cast(double, static_cast<std::uint64_t>(1023 + 2 * Values::exponent) << 52);
  static constexpr double first = run_start[E::id] * factor;

 public:
  HWY_INLINE RunSquares() {
#pragma GCC unroll unroll_count
    for (auto& run : runs_) run = start();
  }

  /// Takes blocks of one run and has them counted.
  template <class Counts, class Prefetcher>
  HWY_INLINE void take(const Storage* at, std::size_t blocks, Counts& counts, const Prefetcher& ahead) {
    if constexpr (E::id == BF16::id) {
      while (is_low_ && blocks > 0) {
        const std::size_t part = blocks < turn_blocks<E> ? blocks : turn_blocks<E>;
        take_low(at, part, counts, ahead);
        at += part * block_elements;
        blocks -= part;
      }
    }
    if (blocks > 0) take_usual(at, blocks, counts, ahead);
  }

  HWY_INLINE void end_run() {
    const hn::ScalableTag<double> dd;
    HWY_ALIGN float lanes[elements];
#pragma GCC unroll unroll_count
    for (std::size_t i = 0; i < run_count; ++i) {
      hn::StoreU(runs_[i], D(), lanes + i * lane_count);
      runs_[i] = start();
    }
    HWY_ALIGN double sums[elements];
    for (std::size_t i = 0; i < elements; i += lanes_of<hn::ScalableTag<double>>) {
      auto run = hn::PromoteTo(dd, hn::LoadU(hn::Rebind<float, decltype(dd)>(), lanes + i));
      if constexpr (first != 0) run = hn::Sub(run, hn::Set(dd, first));
      if constexpr (E::id == BF16::id) {
        run = hn::Add(run, hn::LoadU(dd, in_double_ + i));
        hn::StoreU(hn::Zero(dd), dd, in_double_ + i);
      }
      hn::StoreU(run, dd, sums + i);
    }
    for (std::size_t block = 0; block < elements / block_elements; ++block) end_run_of(block, sums);
    is_low_ = true;
  }

  /// `block`: of those that are taken at once.
  HWY_INLINE double sum(std::size_t block = 0) const {
    return run_sums_[block].added() / factor;
  }

 private:
  static HWY_INLINE V start() {
    return hn::Set(D(), static_cast<float>(first));
  }

  HWY_INLINE void end_run_of(std::size_t block, const double (&lanes)[elements]) {
    HWY_ALIGN double sums[block_elements];
#pragma GCC unroll unroll_count
    for (std::size_t i = 0; i < elements; ++i) {
      const std::size_t place = Values::place_of(i / lane_count, i % lane_count);
      if (place / block_elements == block) sums[place % block_elements] = lanes[i];
    }
    run_sums_[block].add(added_as_tree(sums));
  }

  static HWY_INLINE void add_block(const Storage* at, Kept<D> (&runs)[run_count]) {
    Values::for_each(at, [&](std::size_t j, V value) HWY_ATTR { runs[j] = hn::MulAdd(value, value, runs[j]); });
  }

  /// Where there are no low values, or they make no difference to the runs.
  template <class Counts, class Prefetcher>
  HWY_INLINE void take_usual(const Storage* at, std::size_t blocks, Counts& counts, const Prefetcher& ahead) {
    typename Counts::Tally tally;
    Kept<D> runs[run_count];
    copy(runs_, runs);
#pragma GCC unroll 2
    for (std::size_t i = 0; i < blocks; ++i) {
      ahead.template advance<block_elements * sizeof *at>(at + i * block_elements);
      counts.take(at + i * block_elements, tally);
      add_block(at + i * block_elements, runs);
    }
    counts.add(tally);
    if constexpr (E::id == BF16::id) {
      if (!tally.all_below(bf16_large_pattern)) return add_sorted(at, blocks);
    }
    copy(runs, runs_);
  }

  /// Where low values would make a difference.
  template <class Counts, class Prefetcher>
  HWY_NOINLINE void take_low(const Storage* at, std::size_t blocks, Counts& counts, const Prefetcher& ahead) {
    const auto tally = counts.take_all(at, blocks, ahead);
    if (tally.all_below(1)) return;  // zeros
    if (!tally.all_below(bf16_large_pattern) || Counts::any_below(at, blocks, bf16_low_pattern)) {
      add_sorted(at, blocks);
    } else {
      for (std::size_t i = 0; i < blocks; ++i) add_block(at + i * block_elements, runs_);
    }
    V least = runs_[0];
    for (const V run : runs_) least = hn::Min(least, run);
    is_low_ = !hn::AllTrue(D(), hn::Ge(least, hn::Set(D(), bf16_low_run)));
  }

  /// Each square goes where fold.hpp says.
  HWY_NOINLINE void add_sorted(const Storage* at, std::size_t blocks) {
    for (; blocks > sorted; blocks -= sorted, at += sorted * block_elements) add_few_sorted(at, sorted);
    add_few_sorted(at, blocks);
  }

  /// REQUIRES: blocks <= sorted.
  HWY_INLINE void add_few_sorted(const Storage* at, std::size_t blocks) {
    HWY_ALIGN float others[sorted * block_elements];
    Kept<D> runs[run_count];
    copy(runs_, runs);
#pragma GCC unroll 1
    for (std::size_t i = 0; i < blocks; ++i) {
      Values::for_each(at + i * block_elements, [&](std::size_t j, V value) HWY_ATTR {
        const V run = runs[j];
        const auto magnitude = hn::Abs(value);
        const auto is_low = hn::Lt(magnitude, hn::Set(D(), bf16_low));
        const auto is_small = hn::Lt(magnitude, hn::Set(D(), bf16_large));
        const auto matters = hn::IfThenZeroElse(hn::And(is_low, hn::Ge(run, hn::Set(D(), bf16_low_run))), value);
        const auto usual = hn::IfThenElseZero(hn::AndNot(is_low, is_small), value);
        hn::StoreU(hn::Xor(matters, usual), D(), others + i * block_elements + j * lane_count);
        runs[j] = hn::MulAdd(usual, usual, run);
      });
    }
    copy(runs, runs_);
    add_in_double(others, blocks);
  }

  HWY_INLINE void add_in_double(const float* at, std::size_t blocks) {
    const hn::ScalableTag<double> dd;
    const hn::Rebind<float, decltype(dd)> df;
    constexpr std::size_t doubles = lanes_of<hn::ScalableTag<double>>;
    Kept<hn::ScalableTag<double>> sums[block_elements / doubles];
#pragma GCC unroll unroll_count
    for (std::size_t j = 0; j < block_elements / doubles; ++j) sums[j] = hn::LoadU(dd, in_double_ + j * doubles);
#pragma GCC unroll 1
    for (; blocks > 0; --blocks, at += block_elements) {
#pragma GCC unroll unroll_count
      for (std::size_t j = 0; j < block_elements / doubles; ++j) {
        const auto value = hn::PromoteTo(dd, hn::LoadU(df, at + j * doubles));
        sums[j] = hn::MulAdd(value, value, sums[j]);
      }
    }
#pragma GCC unroll unroll_count
    for (std::size_t j = 0; j < block_elements / doubles; ++j) hn::StoreU(sums[j], dd, in_double_ + j * doubles);
  }

  Kept<D> runs_[run_count];
  HWY_ALIGN double in_double_[elements] = {};
  RunSums<E> run_sums_[elements / block_elements];
  bool is_low_ = true;  ///< whether some run has not come to bf16_low_run
};

template <>
class Squares<F16> : public RunSquares<F16> {};
template <>
class Squares<BF16> : public RunSquares<BF16> {};
template <>
class Squares<F8E4M3> : public RunSquares<F8E4M3> {};
template <>
class Squares<F8E5M2> : public RunSquares<F8E5M2> {};

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
