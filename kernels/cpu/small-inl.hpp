// Pieces of a few elements, one element at a time: lists of thousands of tiny tensors spend their time here, where a
// block of 32 would be mostly padding. The bits are those of the blocks: positions that are not there have sums of 0.
#pragma once

#include "kernels/cpu/elements-inl.hpp"
#include "kernels/cpu/piece.hpp"
#include "kernels/fold.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

using SmallTag = hn::CappedTag<float, small>;

/// All at once, for lists of tiny tensors; returns the values. Not with masks for other counts: some CPUs wait for
/// memory with each masked load, one after the other. REQUIRES: count is 4 or 8.
HWY_INLINE hn::Vec<SmallTag> observe_4_or_8(const float* from, std::uint32_t count, const Recipe& recipe,
                                            Found& found) {
  const SmallTag df;
  const hn::CappedTag<std::int32_t, small> db;
  const hn::CappedTag<double, small / 2> dd;
  const hn::Half<decltype(df)> df4;
  const hn::Half<decltype(dd)> dd2;
  const auto value = count == small ? hn::LoadU(df, from) : hn::ZeroExtendVector(df, hn::LoadU(df4, from));
  const auto magnitude = hn::And(hn::BitCast(db, value), hn::Set(db, F32::magnitude));
  const auto threshold = hn::Set(db, static_cast<std::int32_t>(recipe.threshold_pattern[F32::id]));
  const auto zeros = static_cast<std::uint32_t>(hn::CountTrue(db, hn::Eq(magnitude, hn::Zero(db))));
  const auto below = static_cast<std::uint32_t>(hn::CountTrue(db, hn::Lt(magnitude, threshold)));
  found.max_pattern = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(db, magnitude)));
  found.below = below > zeros ? below - zeros : 0;
  found.zeros = zeros - (small - count);
  const auto lower = hn::PromoteTo(dd, hn::LowerHalf(value));
  const auto upper = hn::PromoteTo(dd, hn::UpperHalf(df4, value));
  const auto four = hn::MulAdd(lower, lower, hn::Mul(upper, upper));
  const auto two = hn::Add(hn::LowerHalf(four), hn::UpperHalf(dd2, four));
  found.sum_of_squares = hn::GetLane(two) + hn::GetLane(hn::Reverse2(dd2, two));
  return value;
}

#endif

/// REQUIRES: 0 < count <= small.
template <class E>
HWY_INLINE void observe_small(const typename E::Storage* from, std::uint32_t count, const Recipe& recipe,
                              Found& found) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  if constexpr (E::id == F32::id) {
    if (count % 4 == 0) {
      observe_4_or_8(from, count, recipe, found);
      return;
    }
  }
#endif
  using Bits = typename E::Bits;
  using D = hn::CappedTag<double, 1>;
  const auto threshold = static_cast<Bits>(recipe.threshold_pattern[E::id]);
  double sums[small] = {};
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
    sums[E::id == BF16::id ? i % 2 * (small / 2) + i / 2 : i] = hn::GetLane(hn::Mul(value, value));
  }
  found.max_pattern = static_cast<hwy::MakeUnsigned<Bits>>(max);
  found.sum_of_squares = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

template <class E>
void observe_small_pieces(const Piece* pieces, std::size_t count, const Recipe& recipe, Found* found) {
  for (std::size_t i = 0; i < count; ++i) {
    observe_small<E>(static_cast<const typename E::Storage*>(pieces[i].data), pieces[i].count, recipe, found[i]);
  }
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
