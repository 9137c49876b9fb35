// FP8 slots in host memory: stepped by the same code as on a GPU, and read and written as frameworks keep them.
#pragma once

#include <span>
#include <vector>

#include "kernels/fp8/slots.hpp"

namespace tare::kernels::fp8 {

class HostSlots {
 public:
  /// One slot for each of `fp8_max`, with scale 1, mu 1 and an empty history. Throws std::bad_alloc.
  HostSlots(const Params& params, const WindowShape& shape, std::span<const float> fp8_max);
  HostSlots(const HostSlots&) = delete;
  HostSlots& operator=(const HostSlots&) = delete;

  [[nodiscard]] std::uint32_t count() const { return slots_.count; }
  /// The arrays, which stay where they are.
  [[nodiscard]] const Slots& arrays() const { return slots_; }
  /// Takes the values and parameters of slots of the same rule and shape, in host memory; the arrays stay where they
  /// are.
  void assign(const Slots& other);

  /// The history of a slot as the framework's array has it; entry 0 of those that keep one in progress is the amax.
  [[nodiscard]] std::vector<float> history(std::uint32_t slot) const;
  /// REQUIRES: as many entries as the shape has.
  void set_history(std::uint32_t slot, std::span<const float> entries);
  void set_scale(std::uint32_t slot, float scale);

  void step();

 private:
  std::vector<std::uint32_t> amax_;
  std::vector<std::uint32_t> ring_;
  std::vector<std::uint32_t> groups_;
  std::vector<std::uint32_t> oldest_;
  std::vector<std::uint32_t> steps_;
  std::vector<float> fp8_max_;
  std::vector<float> scale_;
  std::vector<float> inverse_;
  std::vector<double> mu_;
  std::vector<std::uint64_t> seen_;
  std::vector<std::uint64_t> at_largest_;
  Slots slots_;
};

}  // namespace tare::kernels::fp8
