// Pieces of a few elements, one element at a time: lists of thousands of tiny tensors spend their time here, where a
// block of 32 would be mostly padding. The bits are those of the blocks: positions that are not there have sums of 0.
#pragma once

#include "kernels/cpu/elements-inl.hpp"
#include "kernels/cpu/piece.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

inline constexpr std::uint32_t kSmall = 8;

/// REQUIRES: count <= kSmall.
template <class E>
HWY_INLINE void observe_small(const typename E::Storage* from, std::uint32_t count, const Recipe& recipe,
                              Found& found) {
  using Bits = typename E::Bits;
  using D = hn::CappedTag<double, 1>;
  const auto threshold = static_cast<Bits>(recipe.threshold_pattern[E::id]);
  double sums[kSmall] = {};
  Bits max = 0;
  found.zeros = 0;
  found.below = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Bits bits;
    __builtin_memcpy(&bits, from + i, sizeof bits);
    const auto magnitude = static_cast<Bits>(bits & E::magnitude);
    max = magnitude > max ? magnitude : max;
    found.zeros += magnitude == 0 ? 1 : 0;
    found.below += magnitude != 0 && magnitude < threshold ? 1 : 0;
    const auto value = load_double(E(), D(), from + i);
    sums[E::id == BF16::id ? i % 2 * (kSmall / 2) + i / 2 : i] = hn::GetLane(hn::Mul(value, value));
  }
  found.max_pattern = static_cast<hwy::MakeUnsigned<Bits>>(max);
  found.sum_of_squares = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
