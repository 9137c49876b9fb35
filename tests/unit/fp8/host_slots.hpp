// A set of FP8 slots in host memory, stepped by the GPU's code.
#pragma once

#include <vector>

#include "kernels/fp8/slots.hpp"

namespace tare::kernels::test {

class HostSlots {
 public:
  HostSlots(const fp8::Params& params, const fp8::WindowShape& shape, std::uint32_t count)
      : amax_(count),
        ring_(std::size_t{count} * shape.ring_stride()),
        groups_(std::size_t{count} * shape.group_stride()),
        oldest_(count),
        steps_(count),
        fp8_max_(count, 448.0f),
        scale_(count, 1.0f),
        inverse_(count, 1.0f),
        slots_{params,         shape,         count,           amax_.data(),  ring_.data(),   groups_.data(),
               oldest_.data(), steps_.data(), fp8_max_.data(), scale_.data(), inverse_.data()} {}
  HostSlots(const HostSlots&) = delete;
  HostSlots& operator=(const HostSlots&) = delete;

  std::uint32_t count() const { return slots_.count; }
  const fp8::Slots& slots() const { return slots_; }
  float scale(std::uint32_t slot) const { return scale_[slot]; }
  float inverse(std::uint32_t slot) const { return inverse_[slot]; }
  std::uint32_t steps(std::uint32_t slot) const { return steps_[slot]; }
  std::uint32_t amax(std::uint32_t slot) const { return amax_[slot]; }

  void start(std::uint32_t slot, float fp8_max, float scale) {
    fp8_max_[slot] = fp8_max;
    scale_[slot] = scale;
  }
  /// What a cast saw.
  void see(std::uint32_t slot, float amax) { amax_[slot] = bits_of(amax); }

  /// As the framework's array has it.
  void set_history(std::uint32_t slot, const std::vector<float>& entries) {
    const fp8::WindowShape& shape = slots_.shape;
    std::uint32_t* groups = groups_.data() + slot * shape.group_stride();
    for (std::uint32_t i = in_progress() ? 1 : 0; i < entries.size(); ++i) {
      const std::uint32_t place = fp8::ring_index(shape, i, oldest_[slot]);
      const std::uint32_t bits = bits_of(entries[i]);
      ring_[slot * shape.ring_stride() + place] = bits;
      groups[place / fp8::kGroup] = std::max(groups[place / fp8::kGroup], fp8::key_of(slots_.params, bits));
    }
  }
  std::vector<float> history(std::uint32_t slot) const {
    const fp8::WindowShape& shape = slots_.shape;
    std::vector<float> entries;
    for (std::uint32_t i = 0; i < shape.length; ++i) {
      const bool newest = i == 0 && in_progress();
      entries.push_back(float_from(
          newest ? amax_[slot] : ring_[slot * shape.ring_stride() + fp8::ring_index(shape, i, oldest_[slot])]));
    }
    return entries;
  }

  void step() {
    for (std::uint32_t first = 0; first < slots_.count; first += cuda::kWarpLanes / fp8::kSlotLanes) {
      fp8::step_slots(slots_, first);
    }
  }

 private:
  bool in_progress() const { return slots_.shape.layout != fp8::Layout::flax; }

  std::vector<std::uint32_t> amax_;
  std::vector<std::uint32_t> ring_;
  std::vector<std::uint32_t> groups_;
  std::vector<std::uint32_t> oldest_;
  std::vector<std::uint32_t> steps_;
  std::vector<float> fp8_max_;
  std::vector<float> scale_;
  std::vector<float> inverse_;
  fp8::Slots slots_;
};

}  // namespace tare::kernels::test
