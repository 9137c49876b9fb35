// FP8 slots on a GPU: one launch a step for all of them, one for any number of tensors that are cast. Nothing waits in
// a step.
#pragma once

#include <vector>

#include "lib/device/cuda_library.hpp"
#include "lib/scaler/fp8_scaler.hpp"

namespace tare {

class CudaFp8 final : public Fp8Scaler {
 public:
  /// Throws `unsupported` in a build without CUDA, `backend` where there is no such device.
  CudaFp8(const Fp8Set& start, int device);

  void update(kernels::Stream stream) override;

 private:
  /// Ends what the module made.
  struct End {
    void operator()(tare_cuda_slots* slots) const { cuda_library().slots_end(slots); }
    void operator()(tare_cuda_casts* casts) const { cuda_library().casts_end(casts); }
  };
  using Casts = std::unique_ptr<tare_cuda_casts, End>;

  [[nodiscard]] const kernels::fp8::Slots& arrays() const override;
  void note(std::span<const kernels::Tensor> tensors, SlotsOf slots, kernels::Stream stream) override;
  void narrow(std::span<const kernels::Tensor> inputs, const kernels::Tensor* outputs, SlotsOf slots,
              kernels::Stream stream) override;
  void widen(std::span<const kernels::Tensor> inputs, const kernels::Tensor* outputs, SlotsOf slots,
             kernels::Stream stream) override;
  void read(kernels::fp8::HostSlots& host, kernels::Stream stream) const override;
  void write(const kernels::fp8::HostSlots& host, kernels::Stream stream) override;

  void run(std::int32_t what, std::span<const kernels::Tensor> inputs, const kernels::Tensor* outputs, SlotsOf slots,
           kernels::Stream stream);
  /// A list with these tensors: one that had the same counts, dtypes and slots before, or the one unused for longest.
  tare_cuda_casts* casts_of(std::span<const kernels::Tensor> tensors, SlotsOf slots);
  /// The one unused for longest of those that no graph holds; a new one while there are few.
  std::vector<Casts>::iterator unused_casts();

  const tare_cuda_table& cuda_;
  std::unique_ptr<tare_cuda_slots, End> slots_;
  std::vector<Casts> casts_;  // the last used stands first
};

}  // namespace tare
