// Gradients on a GPU that many ranks sum in fp8 (lib/scaler/fp8_all_reduce.hpp has the arithmetic): all of it enqueued,
// the engine's part by a caller's function.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/fp8.hpp"
#include "kernels/cuda/rank_numbers.hpp"

namespace tare::kernels::cuda {

/// Which ranks there are, and how they sum.
struct SumShape {
  std::uint64_t ranks;
  std::uint64_t rank;
  std::uint64_t bucket_bytes;  ///< of fp8 under way at once
  bool by_engine;              ///< the engine adds fp8; else every rank adds its share
  bool operator==(const SumShape&) const = default;
};

/// A list of gradients, each with a slot. Throws Failures.
class GradientSums {
 public:
  explicit GradientSums(DeviceSlots& slots);
  ~GradientSums();
  GradientSums(const GradientSums&) = delete;
  GradientSums& operator=(const GradientSums&) = delete;

  const Device& device() const { return slots_.device(); }
  /// `slots` and `formats`: one a tensor; f32, f16 and bf16. Waits; a captured list is refused.
  void assign(std::span<const Tensor> gradients, const std::uint32_t* slots, const std::int32_t* formats,
              const SumShape& shape);
  /// False (and nothing done) for other counts, dtypes, slots or shapes. Never waits.
  bool rebind(std::span<const Tensor> gradients, const std::uint32_t* slots, const SumShape& shape);
  bool is_captured() const { return whole_.is_captured(); }

  /// Never waits. `fixed_mu`: where the slots have none; `summands`: what sums are divided by.
  void run(const tare_backend_reduction& reduction, double fixed_mu, double summands, cudaStream_t stream);

 private:
  /// What is under way at once: stretches of the tensors, one after another.
  struct Bucket {
    explicit Bucket(const Device& device) : narrowing(device), adding(device), widening(device) {}

    std::uint64_t bytes = 0;
    std::uint64_t share = 0;  ///< of a rank
    std::uint64_t added = 0;  ///< of this rank's share, where there are values
    std::vector<Tensor> wide;
    std::vector<Tensor> narrow;
    std::vector<Tensor> summed;
    std::vector<std::uint32_t> tensors;  ///< one a stretch, as the next
    std::vector<std::uint32_t> added_tensors;
    DeviceWork narrowing;
    DeviceWork adding;
    DeviceWork widening;
    Room<std::uint32_t> device_tensors;
    Room<std::uint32_t> device_added_tensors;
  };

  void lay_out(std::span<const Tensor> gradients, Bucket& bucket, std::uint64_t begin) const;
  void lay_out_added(Bucket& bucket) const;
  void make_ready(Bucket& bucket);
  void look(Capture capture, cudaStream_t stream);
  void enqueue_bucket(const tare_backend_reduction& reduction, Bucket& bucket, Capture capture, cudaStream_t stream);
  void exchange(const tare_backend_reduction& reduction, Bucket& bucket, cudaStream_t stream) const;
  void add(Bucket& bucket, Capture capture, cudaStream_t stream);
  void sum_by_engine(const tare_backend_reduction& reduction, const Bucket& bucket, cudaStream_t stream) const;
  void cast(DeviceWork& work, const Bucket* bucket, cudaStream_t stream) const;
  SummedTensors tensors() const;
  std::uint64_t total() const { return whole_.list().elements(); }

  DeviceSlots& slots_;
  DeviceWork whole_;
  SumShape shape_{};
  std::vector<std::uint32_t> slots_of_;
  std::vector<Dtype> formats_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  Room<std::uint32_t> device_slots_of_;
  Room<std::uint32_t> numbers_of_;  // each tensor's own
  Room<std::uint32_t> amax_;
  Room<float> up_;
  Room<float> down_;
  Room<float> largest_;
  Room<std::uint64_t> counts_;  // values seen, then those at the largest
  Room<std::uint64_t> words_;
  Room<unsigned char> own_;     // a bucket: this rank's values, then all sums
  Room<unsigned char> shares_;  // this rank's share of what each has
  Room<unsigned char> summed_;
  Room<Turns> turns_;
};

}  // namespace tare::kernels::cuda
