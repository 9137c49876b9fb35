// FP8 slots on the CPU.
#pragma once

#include "lib/scaler/fp8_scaler.hpp"

namespace tare {

class CpuFp8 final : public Fp8Scaler {
 public:
  explicit CpuFp8(const Fp8Set& start);

  void update(kernels::Stream stream) override;

 private:
  [[nodiscard]] const kernels::fp8::Slots& arrays() const override { return slots_->arrays(); }
  void note(std::span<const kernels::Tensor> tensors, SlotsOf slots, kernels::Stream stream) override;
  void narrow(std::span<const kernels::Tensor> inputs, const kernels::Tensor* outputs, SlotsOf slots,
              kernels::Stream stream) override;
  void widen(std::span<const kernels::Tensor> inputs, const kernels::Tensor* outputs, SlotsOf slots,
             kernels::Stream stream) override;
  void read(kernels::fp8::HostSlots& host, kernels::Stream stream) const override;
  void write(const kernels::fp8::HostSlots& host, kernels::Stream stream) override;

  std::unique_ptr<kernels::fp8::HostSlots> slots_;
};

}  // namespace tare
