// The scaler on the CPU.
#pragma once

#include "kernels/cpu/backend.hpp"
#include "lib/scaler/scaler.hpp"

namespace tare {

/// What callers may keep pointers to.
struct ShownValues {
  float scale = 1;
  float inverse_scale = 1;
  float found_inf = 0;
  std::int32_t noop = 0;
  float multiplier = 1;

  [[nodiscard]] const void* pointer(Shown which) const;
};

class CpuScaler final : public LossScaler {
 public:
  explicit CpuScaler(const ScalerConfig& config);

  [[nodiscard]] double scale(kernels::Stream stream) const override;
  [[nodiscard]] const void* pointer(Shown which) const override { return shown_.pointer(which); }
  [[nodiscard]] Accumulators accumulators() const override;
  void unscale(std::span<const kernels::Tensor> tensors, kernels::Stream stream) override;
  void observe(std::span<const kernels::Tensor> tensors, kernels::Stream stream) override;
  void report_overflow(bool overflow, kernels::Stream stream) override;
  void update(kernels::Stream stream) override;
  void set_scale(double scale, kernels::Stream stream) override;
  [[nodiscard]] std::string statistics(kernels::Stream stream) const override;
  [[nodiscard]] ScalerState save(kernels::Stream stream) const override;
  void load(const ScalerState& state, kernels::Stream stream) override;
  std::unique_ptr<Grads> make_grads(std::span<const kernels::Tensor> tensors) override;

 private:
  friend class CpuGrads;

  void require_own_process() const;
  /// Takes in what a pass found.
  void add(const kernels::Statistics& seen, float found_inf);
  void clear_accumulated();
  void show_scale();

  RunningState running_;
  ShownValues shown_;
  kernels::Statistics accumulated_;
  kernels::Statistics last_step_;
  double threshold_;
  bool checked_ = false;  // whether anything was looked at or reported since the last update
  unsigned threads_;
  int owner_;  // the process that made it, and alone has its threads
  kernels::cpu::CpuBackend backend_;
  std::unique_ptr<kernels::TensorList> list_;  // for lists that come anew with every call
};

class CpuGrads final : public Grads {
 public:
  CpuGrads(CpuScaler& scaler, std::span<const kernels::Tensor> tensors);

  void rebind(std::span<const kernels::Tensor> tensors, kernels::Stream stream) override;
  void unscale(kernels::Stream stream) override;
  void observe(kernels::Stream stream) override;
  void write(std::span<const kernels::Tensor> outputs, const char* options, kernels::Stream stream) override;
  [[nodiscard]] const void* pointer(Shown which) const override;
  [[nodiscard]] std::string statistics(kernels::Stream stream) const override;

 private:
  void require_writable() const;
  template <class Pass>
  void run(const Pass& pass);

  CpuScaler& scaler_;
  std::unique_ptr<kernels::TensorList> list_;
  std::vector<kernels::Tensor> tensors_;
  ShownValues shown_;
  kernels::Statistics seen_;
  std::vector<kernels::Statistics> seen_each_;  // one a tensor
  float coefficient_ = 1;
  std::string options_text_;
  WriteOptions options_;
};

}  // namespace tare
