// FP8 slots and lists that are cast with their scales, on a GPU. Calls enqueue, and count in their order whatever
// streams they come on (order.hpp); what waits says so. Any call that does not wait may be captured; lists that were
// captured stay as they are for life.
#pragma once

#include <vector>

#include "kernels/cuda/order.hpp"
#include "kernels/cuda/rank_numbers.hpp"
#include "kernels/cuda/work.hpp"

namespace tare::kernels::cuda {

/// What the engine of ranks does with numbers, enqueued. Throws what it refuses.
void join_ranks(const tare_backend_reduction& reduction, std::int32_t what, tare_backend_numbers numbers,
                cudaStream_t stream);

/// Throws Failures.
class DeviceSlots {
 public:
  /// A copy of slots in host memory. Waits.
  DeviceSlots(int device, const fp8::Slots& like);
  ~DeviceSlots();
  DeviceSlots(const DeviceSlots&) = delete;
  DeviceSlots& operator=(const DeviceSlots&) = delete;

  const Device& device() const { return device_; }
  /// The arrays are in device memory, where they stay.
  const fp8::Slots& slots() const { return slots_; }
  Order& order() { return order_; }
  /// One step of all of them: one launch.
  void step(cudaStream_t stream);
  /// Steps go by what all ranks saw from now on; one without a function: by what was seen here.
  void join_by(const tare_backend_reduction& reduction);
  /// Makes of four words in host memory the greatest of all ranks'. Waits.
  void join_words(const tare_backend_reduction& reduction, std::uint64_t* words);
  /// How many ranks there are, and which this one is. Waits.
  void count_ranks(const tare_backend_reduction& reduction, std::uint64_t& ranks, std::uint64_t& rank,
                   cudaStream_t stream);
  /// Tells all ranks which gradients are to be summed, and with which mu. With `words` it waits for what all told.
  void compare(const tare_backend_reduction& reduction, const std::uint64_t* list, std::uint64_t* words,
               cudaStream_t stream);
  /// Enqueues that step.
  void tell_ranks(const RankNumbersArguments& arguments, cudaStream_t stream) const;
  /// Waits; not in a capture. `into`: arrays in host memory, for as many slots of the same rule and shape. Several
  /// threads may read at once.
  void read(const fp8::Slots& into, cudaStream_t stream) const;
  /// Likewise; takes its parameters, too.
  void write(const fp8::Slots& from, cudaStream_t stream);

 private:
  void copy_in(const fp8::Slots& from, cudaStream_t stream);
  void join_counts(cudaStream_t stream) const;

  Device device_;
  Order order_;
  Room<std::uint32_t> amax_;
  Room<std::uint32_t> ring_;
  Room<std::uint32_t> groups_;
  Room<std::uint32_t> oldest_;
  Room<std::uint32_t> steps_;
  Room<float> fp8_max_;
  Room<float> scale_;
  Room<float> inverse_;
  Room<double> mu_;
  Room<std::uint64_t> seen_;
  Room<std::uint64_t> at_largest_;
  Room<std::uint64_t> agreed_;
  Room<std::uint64_t> words_;
  Room<std::uint64_t> ranks_;
  Room<double> numbers_;
  tare_backend_reduction reduction_{};
  fp8::Slots slots_;
};

/// A list of tensors, each with a slot.
class CastList {
 public:
  explicit CastList(DeviceSlots& slots);
  ~CastList();
  CastList(const CastList&) = delete;
  CastList& operator=(const CastList&) = delete;

  const Device& device() const { return slots_.device(); }
  /// `slots`: one a tensor. Waits; a captured list is refused.
  void assign(std::span<const Tensor> inputs, const std::uint32_t* slots);
  /// False (and nothing done) for other counts, dtypes or slots. Never waits.
  bool rebind(std::span<const Tensor> inputs, const std::uint32_t* slots);
  bool is_captured() const { return work_.is_captured(); }

  /// One launch each; f32, f16 and bf16, which `outputs` (fp8, of as many elements) get. Never wait.
  void observe(cudaStream_t stream);
  void quantise(const Tensor* outputs, cudaStream_t stream);
  /// One launch; fp8, into f32, f16 or bf16.
  void dequantise(const Tensor* outputs, cudaStream_t stream);

 private:
  void cast(const Binding* outputs, bool notes, cudaStream_t stream);

  DeviceSlots& slots_;
  DeviceWork work_;
  std::vector<std::uint32_t> slots_of_;  // as on the device
  Room<std::uint32_t> device_slots_of_;
  Room<Turns> turns_;
};

}  // namespace tare::kernels::cuda
