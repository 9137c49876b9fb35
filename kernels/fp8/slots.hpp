// Thousands of FP8 slots (a tensor's scale, its inverse, its amax history) as arrays, and one step of all of them:
// eight lanes a slot, whatever the length of the history.
#pragma once

#include "kernels/fp8/rules.hpp"
#include "kernels/simt.hpp"

namespace tare::kernels::fp8 {

/// A set of slots; arrays of `count`, or of `count` strides. Rules without a history have a length of 1.
struct Slots {
  Params params;
  WindowShape shape;
  std::uint32_t count;
  std::uint32_t* amax;    ///< in progress: casts raise it, a step takes it and puts 0
  std::uint32_t* ring;    ///< ring_stride() a slot
  std::uint32_t* groups;  ///< group_stride() a slot: the greatest key of each group
  std::uint32_t* oldest;  ///< where in the ring
  std::uint32_t* steps;   ///< since the last amax that was not finite; MS-AMP's amax_counter; fp8_lm's clean steps;
                          ///< torchao's is_amax_initialized
  const float* fp8_max;
  float* scale;
  float* inverse;             ///< 1 / scale
  double* mu;                 ///< fp8_lm's alone, as the next two; elsewhere they are null
  std::uint64_t* seen;        ///< values since the last step
  std::uint64_t* at_largest;  ///< those that reached the largest of the format
};

inline constexpr int slot_lanes = 8;
inline constexpr std::uint32_t slots_of_block = cuda::threads / slot_lanes;

namespace detail {

/// What the lanes of a slot know of it.
struct SlotLane {
  std::uint32_t slot;
  bool active;
  int q;                   ///< among the slot's lanes
  std::uint32_t newest;    ///< the amax that goes into the history
  bool looks;              ///< whether the rule looks at its history
  bool writes;             ///< whether the newest amax goes into it
  std::uint32_t place;     ///< where
  std::uint32_t greatest;  ///< a key: of the window that the rule looks at
  std::uint32_t changed;   ///< a key: of the group of `place`, with the newest amax in there
};

TARE_HD inline std::uint32_t greatest_of_four(const std::uint32_t* at) {
  const std::uint32_t low = cuda::larger(at[0], at[1]);
  const std::uint32_t high = cuda::larger(at[2], at[3]);
  return cuda::larger(low, high);
}

/// Whether the step puts its amax at the newest end instead of shifting.
TARE_HD inline bool initialises(const Slots& slots, std::uint32_t slot) {
  return slots.params.rule == Rule::torchao_delayed && slots.params.torchao.initialises && slots.steps[slot] == 0;
}

/// What is in the window, the newest amax apart: the whole ring, or for torchao the groups that do not change.
TARE_HD inline std::uint32_t greatest_before(const Slots& slots, const SlotLane& own) {
  const std::uint32_t* groups = slots.groups + std::uint64_t{own.slot} * slots.shape.group_stride();
  std::uint32_t greatest = 0;
  for (std::uint32_t i = static_cast<std::uint32_t>(own.q) * 4; i < slots.shape.group_stride(); i += group) {
    if (slots.params.rule != Rule::torchao_delayed) {
      greatest = cuda::larger(greatest, greatest_of_four(groups + i));
      continue;
    }
    for (std::uint32_t at = i; at < i + 4; ++at) {
      if (at != own.place / group) greatest = cuda::larger(greatest, groups[at]);
    }
  }
  return greatest;
}

/// This lane's four of the group that changes, with the newest amax in its place.
TARE_HD inline std::uint32_t greatest_after(const Slots& slots, const SlotLane& own) {
  const std::uint32_t first = own.place / group * group + static_cast<std::uint32_t>(own.q) * 4;
  const std::uint32_t* ring = slots.ring + std::uint64_t{own.slot} * slots.shape.ring_stride();
  std::uint32_t greatest = 0;
  for (std::uint32_t i = first; i < first + 4; ++i) {
    greatest = cuda::larger(greatest, key_of(slots.params, i == own.place ? own.newest : ring[i]));
  }
  return greatest;
}

TARE_HD inline SlotLane begin(const Slots& slots, std::uint32_t slot, int lane) {
  SlotLane own = {slot, slot < slots.count, lane % slot_lanes, 0, false, false, 0, 0, 0};
  if (!own.active) return own;
  own.newest = slots.amax[slot];
  if (slots.params.rule == Rule::msamp && own.newest >= 0x7f800000u) own.newest = 0;
  const bool bulk =
      slots.params.rule == Rule::transformer_engine && slots.params.transformer_engine.variant == TeVariant::bulk;
  own.looks = slots.shape.ring() != 0 && !(bulk && own.newest == 0);
  if (!own.looks) return own;
  const bool first = initialises(slots, slot);
  own.writes = slots.params.rule != Rule::torchao_delayed || first;
  own.place = first ? ring_index(slots.shape, 0, slots.oldest[slot]) : slots.oldest[slot];
  own.greatest = greatest_before(slots, own);
  own.changed = greatest_after(slots, own);
  return own;
}

TARE_HD inline float step_mu(const Slots& slots, std::uint32_t slot) {
  double& mu = slots.mu[slot];
  mu = next_mu(slots.params.fp8_lm, mu, slots.seen[slot], slots.at_largest[slot], slots.steps[slot]);
  slots.seen[slot] = 0;
  slots.at_largest[slot] = 0;
  return static_cast<float>(mu);
}

/// The amax that the rule goes by: of the window as it was before the newest went in (flax: without it), or as it is
/// then (torchao).
TARE_HD inline std::uint32_t amax_of(const Slots& slots, const SlotLane& own) {
  const Params& params = slots.params;
  if (params.rule == Rule::flax) return own.greatest;
  if (params.rule == Rule::torchao_delayed) return cuda::larger(own.greatest, own.changed);
  if (params.rule == Rule::transformer_engine && params.transformer_engine.most_recent) return own.newest;
  return cuda::larger(own.greatest, key_of(params, own.newest));
}

TARE_HD inline void set_scale(const Slots& slots, const SlotLane& own) {
  const Params& params = slots.params;
  const float scale =
      params.rule == Rule::fp8_lm
          ? step_mu(slots, own.slot)
          : next_scale(params, slots.scale[own.slot], float_from(amax_of(slots, own)), slots.fp8_max[own.slot]);
  slots.scale[own.slot] = scale;
  slots.inverse[own.slot] = 1.0f / scale;
  if (params.rule == Rule::fp8_lm) return;
  if (params.rule == Rule::torchao_delayed) {
    slots.steps[own.slot] = 1;
    return;
  }
  const bool finite = slots.amax[own.slot] < 0x7f800000u;
  slots.steps[own.slot] = finite ? slots.steps[own.slot] + 1 : 0;
}

TARE_HD inline void put_newest(const Slots& slots, const SlotLane& own) {
  slots.ring[std::uint64_t{own.slot} * slots.shape.ring_stride() + own.place] = own.newest;
  slots.groups[std::uint64_t{own.slot} * slots.shape.group_stride() + own.place / group] = own.changed;
  if (slots.params.rule == Rule::torchao_delayed) return;
  slots.oldest[own.slot] = own.place + 1 == slots.shape.ring() ? 0 : own.place + 1;
}

}  // namespace detail

/// One step of the four slots that a warp takes, from `first` on.
TARE_HD inline void step_slots(const Slots& slots, std::uint32_t first) {
  using cuda::combine_across;
  using cuda::each_lane;
  cuda::PerLane<detail::SlotLane> lanes;
  const auto greatest = [&](int i) -> std::uint32_t& { return lanes.value[i].greatest; };
  const auto changed = [&](int i) -> std::uint32_t& { return lanes.value[i].changed; };
  const auto larger = [](std::uint32_t a, std::uint32_t b) { return cuda::larger(a, b); };
  each_lane([&](int i) {
    const int lane = cuda::lane_at(i);
    lanes.value[i] = detail::begin(slots, first + static_cast<std::uint32_t>(lane / slot_lanes), lane);
  });
  for (int mask = slot_lanes / 2; mask > 0; mask /= 2) {
    combine_across(mask, greatest, larger);
    combine_across(mask, changed, larger);
  }
  each_lane([&](int i) {
    const detail::SlotLane& own = lanes.value[i];
    if (!own.active || own.q != 0) return;
    detail::set_scale(slots, own);
    if (own.writes) detail::put_newest(slots, own);
    slots.amax[own.slot] = 0;
  });
}

}  // namespace tare::kernels::fp8
