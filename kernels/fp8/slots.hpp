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
  std::uint32_t* steps;   ///< since the last amax that was not finite; MS-AMP's amax_counter; fp8_lm's clean steps
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
  bool shifts;             ///< whether it does
  std::uint32_t greatest;  ///< a key: first of the window, then of the group that changes
};

TARE_HD inline std::uint32_t greatest_of_four(const std::uint32_t* at) {
  const std::uint32_t low = cuda::larger(at[0], at[1]);
  const std::uint32_t high = cuda::larger(at[2], at[3]);
  return cuda::larger(low, high);
}

TARE_HD inline SlotLane begin(const Slots& slots, std::uint32_t slot, int lane) {
  SlotLane own = {slot, slot < slots.count, lane % slot_lanes, 0, false, 0};
  if (!own.active) return own;
  own.newest = slots.amax[slot];
  if (slots.params.rule == Rule::msamp && own.newest >= 0x7f800000u) own.newest = 0;
  const bool bulk =
      slots.params.rule == Rule::transformer_engine && slots.params.transformer_engine.variant == TeVariant::bulk;
  own.shifts = slots.shape.ring() != 0 && !(bulk && own.newest == 0);
  if (!own.shifts) return own;
  const std::uint32_t* groups = slots.groups + std::uint64_t{slot} * slots.shape.group_stride();
  for (std::uint32_t i = static_cast<std::uint32_t>(own.q) * 4; i < slots.shape.group_stride(); i += group) {
    own.greatest = cuda::larger(own.greatest, greatest_of_four(groups + i));
  }
  return own;
}

TARE_HD inline float step_mu(const Slots& slots, std::uint32_t slot) {
  double& mu = slots.mu[slot];
  mu = next_mu(slots.params.fp8_lm, mu, slots.seen[slot], slots.at_largest[slot], slots.steps[slot]);
  slots.seen[slot] = 0;
  slots.at_largest[slot] = 0;
  return static_cast<float>(mu);
}

/// The scale, from the window as it was before the newest amax goes in.
TARE_HD inline void set_scale(const Slots& slots, const SlotLane& own) {
  const Params& params = slots.params;
  std::uint32_t amax = own.greatest;
  if (params.rule != Rule::flax) amax = cuda::larger(amax, key_of(params, own.newest));
  if (params.rule == Rule::transformer_engine && params.transformer_engine.most_recent) amax = own.newest;
  const float scale = params.rule == Rule::fp8_lm
                          ? step_mu(slots, own.slot)
                          : next_scale(params, slots.scale[own.slot], float_from(amax), slots.fp8_max[own.slot]);
  slots.scale[own.slot] = scale;
  slots.inverse[own.slot] = 1.0f / scale;
  if (params.rule == Rule::fp8_lm) return;
  const bool finite = slots.amax[own.slot] < 0x7f800000u;
  slots.steps[own.slot] = finite ? slots.steps[own.slot] + 1 : 0;
}

/// This lane's four of the group that changes, with the newest amax in its place.
TARE_HD inline std::uint32_t greatest_after(const Slots& slots, const SlotLane& own) {
  const std::uint32_t place = slots.oldest[own.slot];
  const std::uint32_t first = place / group * group + static_cast<std::uint32_t>(own.q) * 4;
  const std::uint32_t* ring = slots.ring + std::uint64_t{own.slot} * slots.shape.ring_stride();
  std::uint32_t greatest = 0;
  for (std::uint32_t i = first; i < first + 4; ++i) {
    greatest = cuda::larger(greatest, key_of(slots.params, i == place ? own.newest : ring[i]));
  }
  return greatest;
}

TARE_HD inline void put_newest(const Slots& slots, const SlotLane& own) {
  const std::uint32_t place = slots.oldest[own.slot];
  slots.ring[std::uint64_t{own.slot} * slots.shape.ring_stride() + place] = own.newest;
  slots.groups[std::uint64_t{own.slot} * slots.shape.group_stride() + place / group] = own.greatest;
  slots.oldest[own.slot] = place + 1 == slots.shape.ring() ? 0 : place + 1;
}

}  // namespace detail

/// One step of the four slots that a warp takes, from `first` on.
TARE_HD inline void step_slots(const Slots& slots, std::uint32_t first) {
  using cuda::combine_across;
  using cuda::each_lane;
  cuda::PerLane<detail::SlotLane> lanes;
  const auto greatest = [&](int i) -> std::uint32_t& { return lanes.value[i].greatest; };
  const auto larger = [](std::uint32_t a, std::uint32_t b) { return cuda::larger(a, b); };
  each_lane([&](int i) {
    const int lane = cuda::lane_at(i);
    lanes.value[i] = detail::begin(slots, first + static_cast<std::uint32_t>(lane / slot_lanes), lane);
  });
  for (int mask = slot_lanes / 2; mask > 0; mask /= 2) combine_across(mask, greatest, larger);
  each_lane([&](int i) {
    detail::SlotLane& own = lanes.value[i];
    if (own.active && own.q == 0) detail::set_scale(slots, own);
    own.greatest = own.active && own.shifts ? detail::greatest_after(slots, own) : 0;
  });
  for (int mask = slot_lanes / 2; mask > 0; mask /= 2) combine_across(mask, greatest, larger);
  each_lane([&](int i) {
    const detail::SlotLane& own = lanes.value[i];
    if (!own.active || own.q != 0) return;
    if (own.shifts) detail::put_newest(slots, own);
    slots.amax[own.slot] = 0;
  });
}

}  // namespace tare::kernels::fp8
