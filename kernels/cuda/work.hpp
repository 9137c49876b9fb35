// A work list with its tables on a GPU.
#pragma once

#include <vector>

#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/device.hpp"

namespace tare::kernels::cuda {

/// Throws Failures and std::bad_alloc. The device outlives it and is current at every call but the making.
class DeviceWork {
 public:
  explicit DeviceWork(const Device& device);
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

  const WorkList& list() const { return list_; }
  const WorkPiece* pieces() const { return pieces_.data(); }
  const TensorPieces* tensor_pieces() const { return tensor_pieces_.data(); }
  const Binding* inputs() const { return inputs_.data(); }
  const Binding* outputs() const { return output_bindings_.data(); }

  /// May wait: where tables grow, and for the upload of an earlier list. Refused while the stream is captured. Without
  /// the memory the list is empty.
  void assign(std::span<const Tensor> tensors, cudaStream_t stream);
  /// False (and nothing done) for other counts or dtypes. Never waits; enqueues nothing where addresses are the same.
  bool rebind(std::span<const Tensor> tensors, cudaStream_t stream);
  /// One output for each tensor. Never waits; enqueues nothing for those of the last call.
  void bind_outputs(const Tensor* outputs, cudaStream_t stream);

 private:
  void upload(cudaStream_t stream);
  void bind(Binding* to, std::span<const Tensor> tensors, cudaStream_t stream);

  const Device& device_;
  WorkList list_;
  std::vector<Tensor> outputs_;  // as last bound
  Room<WorkPiece> pieces_;
  Room<TensorPieces> tensor_pieces_;
  Room<Binding> inputs_;
  Room<Binding> output_bindings_;
  Room<unsigned char, Place::pinned> staged_;
  cudaEvent_t uploaded_ = nullptr;  // when `staged_` may be written again
};

}  // namespace tare::kernels::cuda
