#include "kernels/fp8/host_slots.hpp"

#include <algorithm>

#include "kernels/fp8/each_array.hpp"

namespace tare::kernels::fp8 {
namespace {

/// Room for what fp8_lm alone has.
template <class T>
T* data_or_null(std::vector<T>& values) {
  return values.empty() ? nullptr : values.data();
}

}  // namespace

HostSlots::HostSlots(const Params& params, const WindowShape& shape, std::span<const float> fp8_max)
    : amax_(fp8_max.size()),
      ring_(fp8_max.size() * shape.ring_stride()),
      groups_(fp8_max.size() * shape.group_stride()),
      oldest_(fp8_max.size()),
      steps_(fp8_max.size()),
      fp8_max_(fp8_max.begin(), fp8_max.end()),
      scale_(fp8_max.size(), 1.0f),
      inverse_(fp8_max.size(), 1.0f),
      mu_(params.rule == Rule::fp8_lm ? fp8_max.size() : 0, 1.0),
      seen_(mu_.size()),
      at_largest_(mu_.size()),
      slots_{params,
             shape,
             static_cast<std::uint32_t>(fp8_max.size()),
             amax_.data(),
             ring_.data(),
             groups_.data(),
             oldest_.data(),
             steps_.data(),
             fp8_max_.data(),
             scale_.data(),
             inverse_.data(),
             data_or_null(mu_),
             data_or_null(seen_),
             data_or_null(at_largest_)} {}

void HostSlots::assign(const Slots& other) {
  copy_arrays(slots_, other);
  slots_.params = other.params;
}

std::vector<float> HostSlots::history(std::uint32_t slot) const {
  const std::uint32_t* ring = slots_.ring + std::size_t{slot} * slots_.shape.ring_stride();
  std::vector<float> entries(slots_.shape.length);
  for (std::uint32_t i = 0; i < slots_.shape.length; ++i) {
    const bool newest = i == 0 && slots_.shape.in_progress();
    entries[i] = float_from(newest ? amax_[slot] : ring[ring_index(slots_.shape, i, oldest_[slot])]);
  }
  return entries;
}

void HostSlots::set_history(std::uint32_t slot, std::span<const float> entries) {
  std::uint32_t* ring = slots_.ring + std::size_t{slot} * slots_.shape.ring_stride();
  std::uint32_t* groups = slots_.groups + std::size_t{slot} * slots_.shape.group_stride();
  std::fill_n(groups, slots_.shape.group_stride(), 0u);
  if (slots_.shape.in_progress()) amax_[slot] = bits_of(entries[0]);
  for (std::uint32_t i = slots_.shape.in_progress() ? 1 : 0; i < slots_.shape.length; ++i) {
    const std::uint32_t place = ring_index(slots_.shape, i, oldest_[slot]);
    const std::uint32_t bits = bits_of(entries[i]);
    ring[place] = bits;
    groups[place / group] = std::max(groups[place / group], key_of(slots_.params, bits));
  }
}

void HostSlots::set_scale(std::uint32_t slot, float scale) {
  scale_[slot] = scale;
  inverse_[slot] = 1.0f / scale;
}

void HostSlots::step() {
  for (std::uint32_t first = 0; first < slots_.count; first += cuda::warp_lanes / slot_lanes) {
    step_slots(slots_, first);
  }
}

}  // namespace tare::kernels::fp8
