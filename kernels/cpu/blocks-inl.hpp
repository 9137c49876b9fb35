// What passes take at once: a block of 32 elements, the unit of sums (fold.hpp), or two.
#pragma once

#include "kernels/cpu/elements-inl.hpp"
#include "kernels/fold.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

inline constexpr std::size_t block_elements = 32;

/// Blocks of a run (fold.hpp).
template <class E>
inline constexpr std::size_t blocks_of_run = run_blocks(sizeof(typename E::Bits));

// All of a block, but for single elements, where that makes much code for nothing.
#if HWY_TARGET == HWY_SCALAR
inline constexpr int unroll_count = 4;
#else
inline constexpr int unroll_count = 32;
#endif

struct OneBlock {
  static constexpr std::size_t elements = block_elements;
  template <class T>
  using Tag = hn::CappedTag<T, elements>;

  /// A vector from element `i` on.
  template <class T>
  static HWY_INLINE hn::Vec<Tag<T>> load(const T* at, std::size_t i) {
    return hn::LoadU(Tag<T>(), at + i);
  }
};

#if HWY_TARGET == HWY_AVX3

/// A block, and in the upper half of the vector the one at the same place of the next piece, for elements of 8 bits.
struct TwoBlocks {
  static constexpr std::size_t elements = 2 * block_elements;
  template <class T>
  using Tag = hn::CappedTag<T, elements>;

  template <class T>
  static HWY_INLINE hn::Vec<Tag<T>> load(const T* at, std::size_t i) {
    static_assert(sizeof(T) == 1);
    const hn::Half<Tag<T>> half;
    return hn::Combine(Tag<T>(), hn::LoadU(half, at + piece_elements(1) + i), hn::LoadU(half, at + i));
  }
};

#endif

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
