// Running FP8 slots. Pointers may be a device's, and nothing here waits but what says so; on a GPU a step is one launch
// for all slots, and so is a list of tensors that is cast.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/fp8/host_slots.hpp"
#include "kernels/launch.hpp"
#include "lib/scaler/fp8_all_reduce.hpp"
#include "lib/scaler/fp8_config.hpp"
#include "lib/scaler/fp8_device_sums.hpp"
#include "lib/scaler/fp8_reduction.hpp"
#include "lib/scaler/scaler.hpp"

namespace tare {

/// The numbers are those of the C ABI: never changed, never reused.
enum class Fp8Shown : std::int32_t { scale = 1, scale_inv = 2 };

/// Which slot each tensor of a list belongs to.
using SlotsOf = std::span<const std::uint32_t>;

class Fp8Casts;

class Fp8Scaler {
 public:
  /// Throws `unsupported` in a build without CUDA, `backend` where there is no such device.
  explicit Fp8Scaler(Fp8Config&& config);

  [[nodiscard]] std::size_t count() const { return set_.count(); }
  /// The number of the slot with that name. Throws `mismatch` where none, or more than one, has it.
  [[nodiscard]] std::uint32_t slot_of(std::string_view name) const;
  /// One float a slot: what values are multiplied by to become fp8, or fp8 to become values. Stable for life. Throws
  /// `invalid_argument` for a number that is neither.
  [[nodiscard]] const float* pointer(Fp8Shown which) const;
  /// One float a slot: the amax in progress.
  [[nodiscard]] Accumulators accumulators() const;

  /// Raise the amax of the tensors' slots; `slots` null: the i-th tensor is of slot i. Throw `invalid_argument` or
  /// `unsupported` for lists that do not fit, and nothing is done.
  void observe(std::span<const kernels::Tensor> tensors, const std::uint32_t* slots, kernels::Stream stream);
  void quantise(std::span<const kernels::Tensor> inputs, std::span<const kernels::Tensor> outputs,
                const std::uint32_t* slots, kernels::Stream stream);
  void dequantise(std::span<const kernels::Tensor> inputs, std::span<const kernels::Tensor> outputs,
                  const std::uint32_t* slots, kernels::Stream stream);
  /// A step of every slot, by what all ranks saw where there is a communicator.
  void update(kernels::Stream stream);
  /// Steps are calls of all ranks of the communicator from now on, and so is this; null: no longer. Throws
  /// `unsupported` where the communicator is for another place, `mismatch` where ranks have other slots.
  void set_communicator(std::shared_ptr<Communicator> communicator);

  /// A call of all ranks: gradients, f32, f16 or bf16, become the mean or the sum of those of all ranks. Throws what
  /// Fp8AllReduce does, or on a GPU, Fp8DeviceSums; `refused` without a communicator, `unsupported` for slots of format
  /// f16.
  void all_reduce(std::span<const kernels::Tensor> gradients, const std::uint32_t* slots,
                  const AllReduceOptions& options, kernels::Stream stream);

  /// `slots` as above. Throws as those do.
  std::unique_ptr<Fp8Casts> make_casts(std::span<const kernels::Tensor> inputs, const std::uint32_t* slots);

  /// JSON "tare.fp8/1". Waits.
  [[nodiscard]] std::string statistics(kernels::Stream stream) const;
  /// Wait.
  [[nodiscard]] ScalerState save(kernels::Stream stream) const;
  void load(const ScalerState& state, kernels::Stream stream);

 private:
  friend class Fp8Casts;

  /// Where it computes.
  [[nodiscard]] const kernels::fp8::Slots& arrays() const;
  void run(std::int32_t what, std::span<const kernels::Tensor> inputs, const kernels::Tensor* outputs, SlotsOf slots,
           kernels::Stream stream);
  tare_backend_casts* casts_of(std::span<const kernels::Tensor> tensors, SlotsOf slots);
  [[nodiscard]] Fp8Set now(kernels::Stream stream) const;
  void require_quantisable(std::span<const kernels::Tensor> inputs, std::span<const kernels::Tensor> outputs,
                           SlotsOf slots) const;
  void require_dequantisable(std::span<const kernels::Tensor> inputs, std::span<const kernels::Tensor> outputs,
                             SlotsOf slots) const;
  [[nodiscard]] SlotsOf checked(const std::uint32_t* slots, std::size_t tensors) const;

  Fp8Set set_;  // its arrays as they were made or loaded
  std::vector<std::uint32_t> each_its_own_;
  int device_;  // of CUDA; below 0: the CPU
  std::unique_ptr<Fp8Reduction> reduction_;
  std::unique_ptr<Fp8AllReduce> all_reduce_;  // of the reduction's communicator
  const tare_backend_table& backend_;
  BackendHandle<tare_backend_slots> slots_;
  RecentLists<tare_backend_casts> casts_;
  std::unique_ptr<Fp8DeviceSums> device_sums_;  // likewise, of slots on a GPU
};

/// A list made ready once and cast every step; it belongs to slots and goes before them. Throws what they throw.
class Fp8Casts {
 public:
  Fp8Casts(Fp8Scaler& scaler, std::span<const kernels::Tensor> inputs, SlotsOf slots);

  void rebind(std::span<const kernels::Tensor> inputs);
  /// As the slots' own.
  void observe(kernels::Stream stream);
  void quantise(std::span<const kernels::Tensor> outputs, kernels::Stream stream);
  void dequantise(std::span<const kernels::Tensor> outputs, kernels::Stream stream);

 private:
  void run(std::int32_t what, const kernels::Tensor* outputs, kernels::Stream stream);

  Fp8Scaler& scaler_;
  std::vector<kernels::Tensor> inputs_;
  std::vector<std::uint32_t> slots_;
  BackendHandle<tare_backend_casts> casts_;
};

std::unique_ptr<Fp8Scaler> make_fp8_scaler(Fp8Config&& config);

}  // namespace tare
