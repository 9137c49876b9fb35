// The scaler on the CPU.
#pragma once

#include "kernels/cpu/backend.hpp"
#include "lib/scaler/scaler.hpp"

namespace tare {

class CpuGrads;

class CpuScaler final : public LossScaler {
 public:
  explicit CpuScaler(const ScalerConfig& config);

  [[nodiscard]] rule::PolicyId policy() const override { return core_.running.policy.id; }
  [[nodiscard]] kernels::ScalerCore& memory() override { return core_; }
  [[nodiscard]] kernels::ScalerCore snapshot(kernels::Stream) const override { return core_; }
  [[nodiscard]] double scale(kernels::Stream stream) const override;
  [[nodiscard]] const void* pointer(Shown which) const override { return pointer_to(core_.shown, which); }
  [[nodiscard]] Accumulators accumulators() const override;
  void unscale(std::span<const kernels::Tensor> tensors, kernels::Stream stream) override;
  void observe(std::span<const kernels::Tensor> tensors, kernels::Stream stream) override;
  void report_overflow(bool overflow, kernels::Stream stream) override;
  void report_reduced(kernels::Stream stream) override;
  void report_layer(const rule::LayerStatistics& layer, kernels::Stream stream) override;
  void update(kernels::Stream stream) override;
  void set_scale(double scale, kernels::Stream stream) override;
  [[nodiscard]] std::string statistics(kernels::Stream stream) const override;
  [[nodiscard]] ScalerState save(kernels::Stream stream) const override;
  void load(const ScalerState& state, kernels::Stream stream) override;
  std::unique_ptr<Grads> make_grads(std::span<const kernels::Tensor> tensors) override;

 private:
  friend class CpuGrads;

  void require_own_process() const;

  kernels::ScalerCore core_;
  double threshold_;
  unsigned threads_;
  int owner_;  // the process that made it, and alone has its threads
  kernels::cpu::CpuBackend backend_;
  std::unique_ptr<kernels::TensorList> list_;  // for lists that come anew with every call
  std::vector<CpuGrads*> grads_;               // that there are
};

class CpuGrads final : public Grads {
 public:
  CpuGrads(CpuScaler& scaler, std::span<const kernels::Tensor> tensors);
  ~CpuGrads() override;
  CpuGrads(const CpuGrads&) = delete;
  CpuGrads& operator=(const CpuGrads&) = delete;

  /// As the scaler's found-inf says after a reduction.
  void follow_reduced();
  void rebind(std::span<const kernels::Tensor> tensors, kernels::Stream stream) override;
  void unscale(kernels::Stream stream) override;
  void observe(kernels::Stream stream) override;
  void unscale_and_update(kernels::Stream stream) override;
  void observe_and_update(kernels::Stream stream) override;
  void write(std::span<const kernels::Tensor> outputs, const char* options, kernels::Stream stream) override;
  [[nodiscard]] const void* pointer(Shown which) const override;
  [[nodiscard]] std::string statistics(kernels::Stream stream) const override;

 private:
  void require_writable() const;
  template <class Pass>
  void run(bool scaled, double clip_norm, const Pass& pass);

  CpuScaler& scaler_;
  std::unique_ptr<kernels::TensorList> list_;
  std::vector<kernels::Tensor> tensors_;
  kernels::ListCore core_;
  std::vector<kernels::Statistics> seen_each_;  // one a tensor
  bool writable_ = false;                       // a matter of dtypes alone, which rebind keeps
  KnownWriteOptions options_;
};

}  // namespace tare
