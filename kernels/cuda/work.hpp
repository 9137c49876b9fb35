// A work list with its tables on a GPU.
#pragma once

#include <vector>

#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/device.hpp"

namespace tare::kernels::cuda {

/// A table of addresses on a GPU. It is written by launches, before those that read it: in a captured graph by the
/// graph's own, so that a replay looks at what was captured, whatever was bound since.
class Addresses {
 public:
  void reserve(std::size_t count);
  const Binding* data() const { return table_.data(); }
  /// Enqueues what makes the table hold these; nothing where it is known to hold them. `capture`: that `stream` is part
  /// of. Never waits. Throws Failures, after which nothing is known.
  void bind(std::span<const Tensor> tensors, const Device& device, Capture capture, cudaStream_t stream);
  void forget() { known_ = false; }
  /// Whether the `index`-th of those that were bound last lay there.
  bool had(std::size_t index, const Tensor& tensor) const;
  /// Whether a graph binds, too: then only it knows what the table holds.
  bool is_captured() const { return captured_; }
  /// Whether the table holds what was bound last, once all that is enqueued has run.
  bool is_current(Capture capture) const {
    return known_ && capture == capture_ && (!captured_ || capture != no_capture);
  }

 private:
  bool holds(std::span<const Tensor> tensors, Capture capture) const;

  Room<Binding> table_;
  std::vector<Tensor> bound_;     // as enqueued last
  bool known_ = false;            // whether the table holds them once that has run
  Capture capture_ = no_capture;  // that they were enqueued in
  bool captured_ = false;
};

/// Throws Failures and std::bad_alloc. The device outlives it and is current at every call but the making.
class DeviceWork {
 public:
  explicit DeviceWork(const Device& device) : device_(device) {}

  const WorkList& list() const { return list_; }
  const WorkPiece* pieces() const { return pieces_.data(); }
  const TensorPieces* tensor_pieces() const { return tensor_pieces_.data(); }
  const Binding* inputs() const { return inputs_.data(); }
  const Binding* outputs() const { return outputs_.data(); }

  /// Tables are written on the device's own stream, which has to have waited for those who read the old ones. Waits.
  /// Refused where a graph has captured the list, and tensors that the device cannot reach, here and below. Without the
  /// memory the list is empty.
  void assign(std::span<const Tensor> tensors);
  void clear();
  /// Other addresses, which the next bind takes. False (and nothing done) for other counts or dtypes.
  bool rebind(std::span<const Tensor> tensors);
  bool is_captured() const { return inputs_.is_captured(); }

  /// Enqueue what makes the tables hold the list's addresses, and `outputs`, one for each tensor. Never wait.
  void bind(Capture capture, cudaStream_t stream) {
    if (!has_moved_ && inputs_.is_current(capture)) return;
    inputs_.bind(list_.tensors(), device_, capture, stream);
    has_moved_ = false;
  }
  void bind_outputs(const Tensor* outputs, Capture capture, cudaStream_t stream);

 private:
  void upload();

  const Device& device_;
  WorkList list_;
  bool has_moved_ = false;  ///< since the inputs were bound: ten thousand addresses are not compared for nothing
  Room<WorkPiece> pieces_;
  Room<TensorPieces> tensor_pieces_;
  Addresses inputs_;
  Addresses outputs_;
};

}  // namespace tare::kernels::cuda
