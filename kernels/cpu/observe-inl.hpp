// The statistics of a piece, equal in every bit on every instruction set.
#pragma once

#include "kernels/cpu/small-inl.hpp"
#include "kernels/cpu/squares-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

/// What is found in a piece.
template <class E, template <class> class Below = Counter>
class Observer {
 public:
  HWY_INLINE Observer(const Recipe& recipe, std::uint32_t elements)
      : prefetcher_(elements * sizeof(typename E::Bits)), counts_(recipe) {}

  /// Takes blocks of one run (fold.hpp), not necessarily all of it.
  HWY_INLINE void take(const typename E::Storage* at, std::size_t blocks) {
    prefetcher_.advance_pages(at, blocks * block_elements * sizeof *at);
    squares_.take(at, blocks, counts_, prefetcher_);
  }
  /// As take(), not inlined: beside other code the compiler would run out of registers.
  HWY_NOINLINE void take_apart(const typename E::Storage* at, std::size_t blocks) { take(at, blocks); }

  HWY_INLINE void end_run() { squares_.end_run(); }

  HWY_INLINE bool all_finite() const { return counts_.all_finite(); }

  /// `count`: how many elements were taken, without zeros that filled up the last block.
  HWY_INLINE void finish(std::uint32_t count, Found& found) {
    if (count % (blocks_of_run<E> * block_elements) != 0) squares_.end_run();
    counts_.finish(count, found);
    found.sum_of_squares = all_finite() ? squares_.sum() : __builtin_inf();
  }

 private:
  Prefetcher prefetcher_;
  Counts<E, Below> counts_;
  Squares<E> squares_;
};

/// The last elements of a piece, filled up with zeros to a block; and the way back.
template <class E>
struct PaddedBlock {
  using T = typename E::Storage;
  HWY_ALIGN T elements[block_elements];

// Where the instruction set can move a part of a vector, the block is written and read in the same whole vectors: a CPU
// is slow to read a vector out of smaller stores, and lists of tiny tensors do nothing else.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  static constexpr bool masked = HWY_TARGET == HWY_AVX3 || sizeof(T) >= 4;
#else
  static constexpr bool masked = false;
#endif
  using D = hn::CappedTag<T, block_elements>;
  static constexpr std::size_t lane_count = lanes_of<D>;

  HWY_INLINE void take(const T* from, std::size_t count) {
    if constexpr (masked) {
#pragma GCC unroll unroll_count
      for (std::size_t i = 0; i < block_elements; i += lane_count) {
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
    return hn::FirstN(D(), left < lane_count ? left : lane_count);
  }
};

// Not inlined: beside other code the compiler would run out of registers.
template <class E, template <class> class Below = Counter>
HWY_NOINLINE void observe_blocks(const typename E::Storage* at, std::uint32_t count, const Recipe& recipe,
                                 Found& found) {
  Observer<E, Below> observer(recipe, count);
  for (std::size_t left = count / block_elements; left > 0;) {
    const std::size_t blocks = left < blocks_of_run<E> ? left : blocks_of_run<E>;
    observer.take(at, blocks);
    if (blocks == blocks_of_run<E>) observer.end_run();
    at += blocks * block_elements;
    left -= blocks;
  }
  const std::uint32_t rest = count % block_elements;
  if (rest != 0) {
    PaddedBlock<E> block;
    block.take(at, rest);
    observer.take(block.elements, 1);
  }
  observer.finish(count, found);
}

/// Whether magnitudes may lie between 0 and the threshold. Not to count those saves fp8 a tenth of its time.
template <class E>
HWY_INLINE bool counts_below(const Recipe& recipe) {
  return sizeof(typename E::Bits) > 1 || recipe.threshold_pattern[E::id] > 1;
}

template <class E>
void observe_piece(const void* in, void*, std::uint32_t count, const Recipe& recipe, Found& found) {
  const auto* at = static_cast<const typename E::Storage*>(in);
  if (counts_below<E>(recipe)) return observe_blocks<E>(at, count, recipe, found);
  if constexpr (sizeof(typename E::Bits) == 1) observe_blocks<E, NoCounter>(at, count, recipe, found);
}

/// together whole pieces of a tensor, one behind the other, a little of each in turn: memory delivers several streams
/// faster than one. What is counted is found in the first. `then(from, counts)` is called for the blocks of each turn.
template <class E, class Then>
HWY_INLINE void in_turns(typename E::Storage* at, const Recipe& recipe, Found* found, const Then& then) {
  constexpr std::size_t elements = piece_elements(sizeof(typename E::Bits));
  Counts<E> counts(recipe);
  Squares<E> squares[together];
  for (std::size_t i = 0; i < elements / block_elements; i += turn_blocks<E>) {
    for (std::size_t k = 0; k < together; ++k) {
      auto* const from = at + k * elements + i * block_elements;
      squares[k].take(from, turn_blocks<E>, counts, NoPrefetcher());
      if ((i + turn_blocks<E>) % blocks_of_run<E> == 0) squares[k].end_run();
      then(from, counts);
    }
  }
  for (std::size_t k = 0; k < together; ++k) found[k] = {squares[k].sum(), 0, 0, 0};
  counts.finish(together * elements, found[0]);
}

template <class E>
void observe_together(void* at, const Recipe& recipe, Found* found) {
  in_turns<E>(static_cast<typename E::Storage*>(at), recipe, found, [](auto*, auto&) {});
}

#if HWY_TARGET == HWY_AVX3

/// fp8: as vectors hold two blocks, two pieces are calculated with at once.
template <class E, template <class> class Below>
HWY_INLINE void observe_by_twos(const std::uint8_t* at, const Recipe& recipe, Found* found) {
  Counts<E, Below, TwoBlocks> counts(recipe);
  for (std::size_t k = 0; k < together; k += 2) {
    RunSquares<E, TwoBlocks> squares;
    for (std::size_t i = 0; i < piece_elements(1); i += run_elements(1)) {
      squares.take(at + k * piece_elements(1) + i, blocks_of_run<E>, counts, TwoPrefetcher());
      squares.end_run();
    }
    for (std::size_t j = 0; j < 2; ++j)
      found[k + j] = {counts.all_finite() ? squares.sum(j) : __builtin_inf(), 0, 0, 0};
  }
  counts.finish(together * piece_elements(1), found[0]);
}

template <class E>
void observe_fp8_together(void* in, const Recipe& recipe, Found* found) {
  const auto* at = static_cast<const std::uint8_t*>(in);
  if (counts_below<E>(recipe)) return observe_by_twos<E, Counter>(at, recipe, found);
  return observe_by_twos<E, NoCounter>(at, recipe, found);
}

#endif

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
