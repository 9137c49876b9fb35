// Lists and scalers on a GPU. Calls enqueue on the stream that they are given and return; what waits says so. One list
// is used on one stream at a time, or on streams that the caller has put in order.
#pragma once

#include "kernels/cuda/small_kernels.hpp"
#include "kernels/cuda/work.hpp"

namespace tare::kernels::cuda {

/// A ScalerCore in device memory. Throws Failures.
class DeviceScaler {
 public:
  /// Waits.
  DeviceScaler(int device, const rule::RunningState& running);
  ~DeviceScaler();
  DeviceScaler(const DeviceScaler&) = delete;
  DeviceScaler& operator=(const DeviceScaler&) = delete;

  const Device& device() const { return device_; }
  ScalerCore* core() const { return core_.data(); }
  /// `asked.core` is set here.
  void obey(CommandArguments asked, cudaStream_t stream);
  /// Waits. What the rule raised is there once.
  ScalerCore read(cudaStream_t stream);

 private:
  Device device_;
  Room<ScalerCore> core_;
  Room<ScalerCore, Place::pinned> copy_;
};

enum class Pass : std::int32_t { observe = 1, unscale = 2, write = 3 };

struct PassRequest {
  Pass pass = Pass::observe;
  bool unscales = true;             ///< write: multiply by the inverse scale
  bool steps = false;               ///< the scaler's step follows in the same launch; not with clip_norm
  float limit = __builtin_inff();   ///< write: of clipping by value
  double clip_norm = 0;             ///< write: above 0 a first pass finds the norm
  double threshold = 0;             ///< for Statistics::below
  const Tensor* outputs = nullptr;  ///< write
};

/// A prepared list whose findings go to a scaler. Throws Failures and std::bad_alloc.
class DeviceList {
 public:
  explicit DeviceList(DeviceScaler& scaler);
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;

  int device() const { return scaler_.device().ordinal(); }
  ListCore* core() const { return &core_.data()->list; }
  /// As DeviceWork's.
  void assign(std::span<const Tensor> tensors, cudaStream_t stream);
  bool rebind(std::span<const Tensor> tensors, cudaStream_t stream);
  void run(const PassRequest& request, cudaStream_t stream);
  /// Waits. `each`: one a tensor.
  ListCore read(Statistics* each, cudaStream_t stream);

 private:
  struct Core {
    ListCore list;
    std::uint32_t ticket;
  };

  PassArguments arguments(const PassRequest& request) const;
  void launch(Kernel kernel, const PassArguments& pass, cudaStream_t stream);

  DeviceScaler& scaler_;
  DeviceWork work_;
  bool passed_ = false;  // whether there are findings
  Room<Core> core_;
  Room<PieceFound> found_;
  Room<Statistics> each_;
};

}  // namespace tare::kernels::cuda
