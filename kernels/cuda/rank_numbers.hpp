// What ranks tell one another of FP8 slots and of gradients that they sum, as words and numbers that any engine takes,
// and what becomes of those of all ranks.
#pragma once

#include "kernels/cuda/quantise.hpp"
#include "kernels/fp8/shared_factor.hpp"

namespace tare::kernels::cuda {

/// Gradients of a sum: arrays of one a tensor.
struct SummedTensors {
  const std::uint32_t* slots;
  std::uint32_t* amax;  ///< bits: seen here, then of all ranks
  float* up;            ///< what values are multiplied by
  float* down;          ///< what sums are multiplied by; NaN where a value of any rank is not finite
  float* largest;       ///< of the slot's format
  std::uint64_t* seen;  ///< of the sums that are this rank's, as the next
  std::uint64_t* at_largest;
  std::uint32_t count;
};

/// The greatest of a word of all ranks, and of its complement: so all see the least, too.
inline constexpr std::uint32_t agreed_words = 4;

enum class RankStep : std::int32_t {
  tell_slots = 1,  ///< amaxes as words, fp8_lm's counts as numbers
  hear_slots = 2,
  tell_list = 3,  ///< which gradients, and with which mu
  tell_maxima = 4,
  hear_maxima = 5,  ///< the factors
  note = 6          ///< what the sums were like
};

struct RankNumbersArguments {
  fp8::Slots slots;
  SummedTensors tensors;
  std::uint64_t* words;
  double* numbers;
  std::uint64_t list[2];  ///< how many gradients, and a digest of what they are
  double fixed_mu;        ///< of rules that have none
  double summands;
  RankStep step;
};

TARE_HD inline std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ bits >> 31) * 0x9e3779b97f4a7c15u;
  return bits ^ bits >> 29;
}

/// In one warp: all mu become a digest.
TARE_HD inline void tell_list(const RankNumbersArguments& all) {
  PerLane<std::uint64_t> sum;
  each_lane([&](int i) {
    sum.value[i] = 0;
    if (all.slots.mu == nullptr) return;
    for (std::uint32_t slot = static_cast<std::uint32_t>(lane_at(i)); slot < all.slots.count; slot += warp_lanes) {
      sum.value[i] += mixed(mixed(slot + 1) + bits_of(all.slots.mu[slot]));
    }
  });
  for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
    combine_across(
        mask, [&](int i) -> std::uint64_t& { return sum.value[i]; },
        [](std::uint64_t a, std::uint64_t b) { return a + b; });
  }
  each_lane([&](int i) {
    if (lane_at(i) != 0) return;
    const std::uint64_t digest = mixed(all.list[1] + sum.value[i]) >> 1;  // not negative as a signed word
    all.words[0] = all.list[0];
    all.words[1] = ~all.list[0];
    all.words[2] = digest;
    all.words[3] = ~digest;
  });
}

TARE_HD inline void tell_slot(const RankNumbersArguments& all, std::uint32_t slot) {
  all.words[slot] = all.slots.amax[slot];
  if (all.slots.mu == nullptr) return;
  all.numbers[slot] = static_cast<double>(all.slots.seen[slot]);
  all.numbers[all.slots.count + slot] = static_cast<double>(all.slots.at_largest[slot]);
}

TARE_HD inline void hear_slot(const RankNumbersArguments& all, std::uint32_t slot) {
  all.slots.amax[slot] = static_cast<std::uint32_t>(all.words[slot]);
  if (all.slots.mu == nullptr) return;
  all.slots.seen[slot] = static_cast<std::uint64_t>(all.numbers[slot]);
  all.slots.at_largest[slot] = static_cast<std::uint64_t>(all.numbers[all.slots.count + slot]);
}

TARE_HD inline void hear_maximum(const RankNumbersArguments& all, std::uint32_t i) {
  const std::uint32_t slot = all.tensors.slots[i];
  const auto amax = static_cast<std::uint32_t>(all.words[i]);
  const float largest = all.slots.fp8_max[slot];
  const double mu = all.slots.mu != nullptr ? all.slots.mu[slot] : all.fixed_mu;
  const fp8::SharedFactor factor = fp8::shared_factor(amax, largest, mu, all.summands);
  all.tensors.amax[i] = amax;
  all.tensors.up[i] = factor.up;
  all.tensors.down[i] = factor.is_finite ? factor.down : float_from(0x7fc00000u);
  all.tensors.largest[i] = largest;
}

/// Several tensors may be of one slot.
TARE_HD inline void note_tensor(const RankNumbersArguments& all, std::uint32_t i) {
  const std::uint32_t slot = all.tensors.slots[i];
  raise_amax(all.slots.amax + slot, all.tensors.amax[i]);
  add_count(all.slots.seen + slot, all.tensors.seen[i]);
  add_count(all.slots.at_largest + slot, all.tensors.at_largest[i]);
}

/// A step of one slot, or of one tensor.
TARE_HD inline void do_rank_step(const RankNumbersArguments& all, std::uint32_t i) {
  switch (all.step) {
    case RankStep::tell_slots:
      return tell_slot(all, i);
    case RankStep::hear_slots:
      return hear_slot(all, i);
    case RankStep::tell_list:
      return;
    case RankStep::tell_maxima:
      all.words[i] = all.tensors.amax[i];
      return;
    case RankStep::hear_maxima:
      return hear_maximum(all, i);
    case RankStep::note:
      return note_tensor(all, i);
  }
}

/// How many there are of what a step is done with.
TARE_HD inline std::uint32_t count_of(const RankNumbersArguments& all) {
  return all.step <= RankStep::hear_slots ? all.slots.count : all.tensors.count;
}

}  // namespace tare::kernels::cuda
