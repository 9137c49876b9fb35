// FP8 slots and lists that are quantised with their scales, on a GPU. Calls enqueue; what waits says so.
#pragma once

#include "kernels/cuda/quantise.hpp"
#include "kernels/cuda/work.hpp"

namespace tare::kernels::cuda {

/// Throws Failures.
class DeviceSlots {
 public:
  /// One slot for each of `fp8_max`, with scale 1 and an empty history. Waits.
  DeviceSlots(int device, const fp8::Params& params, const fp8::WindowShape& shape, std::span<const float> fp8_max);
  ~DeviceSlots();
  DeviceSlots(const DeviceSlots&) = delete;
  DeviceSlots& operator=(const DeviceSlots&) = delete;

  const Device& device() const { return device_; }
  /// The arrays are in device memory.
  const fp8::Slots& slots() const { return slots_; }
  /// One step of all of them: one launch.
  void step(cudaStream_t stream);

 private:
  template <class T>
  T* made(Room<T>& room, std::size_t count);

  Device device_;
  Room<std::uint32_t> amax_;
  Room<std::uint32_t> ring_;
  Room<std::uint32_t> groups_;
  Room<std::uint32_t> oldest_;
  Room<std::uint32_t> steps_;
  Room<float> fp8_max_;
  Room<float> scale_;
  Room<float> inverse_;
  fp8::Slots slots_;
};

/// A list of f32, f16 and bf16 tensors, each with a slot and an fp8 tensor of as many elements to be written.
class QuantiseList {
 public:
  explicit QuantiseList(const DeviceSlots& slots);
  ~QuantiseList();
  QuantiseList(const QuantiseList&) = delete;
  QuantiseList& operator=(const QuantiseList&) = delete;

  /// Waits. The three are of one length.
  void assign(std::span<const Tensor> inputs, const Tensor* outputs, const std::uint32_t* slots, cudaStream_t stream);
  /// One launch.
  void run(cudaStream_t stream);

 private:
  const DeviceSlots& slots_;
  DeviceWork work_;
  Room<std::uint32_t> slot_of_;
};

}  // namespace tare::kernels::cuda
