// The scaler on a GPU: its state lives there and is changed there. Nothing waits in a step, and a rule that raises is
// told by the next call that waits.
#pragma once

#include <vector>

#include "lib/device/cuda_library.hpp"
#include "lib/scaler/scaler.hpp"

namespace tare {

/// Ends what the module made.
struct CudaEnd {
  void operator()(tare_cuda_scaler* scaler) const { cuda_library().scaler_end(scaler); }
  void operator()(tare_cuda_list* list) const { cuda_library().list_end(list); }
};

using CudaListHandle = std::unique_ptr<tare_cuda_list, CudaEnd>;

class CudaScaler final : public LossScaler {
 public:
  /// Throws `unsupported` in a build without CUDA, `backend` where there is no such device.
  explicit CudaScaler(const ScalerConfig& config);

  [[nodiscard]] rule::PolicyId policy() const override { return policy_.id; }
  [[nodiscard]] kernels::ScalerCore& memory() override { return *core(); }
  [[nodiscard]] kernels::ScalerCore snapshot(kernels::Stream stream) const override { return read(stream); }
  [[nodiscard]] double scale(kernels::Stream stream) const override;
  [[nodiscard]] const void* pointer(Shown which) const override;
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
  friend class CudaGrads;

  [[nodiscard]] kernels::ScalerCore* core() const;
  /// Waits; throws what the rule raised since the last time.
  [[nodiscard]] kernels::ScalerCore read(kernels::Stream stream) const;
  void command(const tare_cuda_command& command, kernels::Stream stream);
  /// A pass that unscales by the scaler's scale, as far as `what` (TARE_CUDA_OBSERVE ...) does so.
  [[nodiscard]] tare_cuda_pass pass_of(std::int32_t what) const;
  CudaListHandle make_list();
  /// A list with these tensors: one that had the same counts and dtypes before, or the one unused for longest.
  tare_cuda_list* list_of(std::span<const kernels::Tensor> tensors);
  /// The one unused for longest of those that no graph holds; a new one while there are few.
  std::vector<CudaListHandle>::iterator unused_list();

  const tare_cuda_table& cuda_;
  rule::Policy policy_;  // as on the device
  double threshold_;
  std::unique_ptr<tare_cuda_scaler, CudaEnd> scaler_;
  std::vector<CudaListHandle> lists_;  // for lists that come anew with every call; the last used stands first
};

class CudaGrads final : public Grads {
 public:
  CudaGrads(CudaScaler& scaler, std::span<const kernels::Tensor> tensors);

  void rebind(std::span<const kernels::Tensor> tensors, kernels::Stream stream) override;
  void unscale(kernels::Stream stream) override;
  void observe(kernels::Stream stream) override;
  void unscale_and_update(kernels::Stream stream) override;
  void observe_and_update(kernels::Stream stream) override;
  void write(std::span<const kernels::Tensor> outputs, const char* options, kernels::Stream stream) override;
  [[nodiscard]] const void* pointer(Shown which) const override;
  [[nodiscard]] std::string statistics(kernels::Stream stream) const override;

 private:
  void pass(std::int32_t what, std::int32_t steps, kernels::Stream stream);

  CudaScaler& scaler_;
  CudaListHandle list_;
  std::vector<kernels::Tensor> tensors_;
  KnownWriteOptions options_;
};

}  // namespace tare
