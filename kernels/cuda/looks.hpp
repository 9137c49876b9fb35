// What tensors on a GPU are like, found out without a wait: tables and results lie in pinned memory of the host.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/look.hpp"
#include "kernels/cuda/pinned.hpp"

namespace tare::kernels::cuda {

/// Looks at tensors of a GPU, one after another, and what they found. Memory is kept from one round of looks to the
/// next, which is another such round. Throws Failures and std::bad_alloc.
class DeviceLooks {
 public:
  explicit DeviceLooks(int device);
  ~DeviceLooks();
  DeviceLooks(const DeviceLooks&) = delete;
  DeviceLooks& operator=(const DeviceLooks&) = delete;

  const Device& device() const { return device_; }
  /// Enqueues a look. Not in a capture; memory that the device cannot reach is refused. Waits where there is not yet
  /// the memory for it.
  void look(std::span<const Tensor> tensors, double scale, cudaStream_t stream);
  /// Whether all looks have finished.
  bool are_done() const;
  /// Waits for all looks since the last read, and copies what they found, in their order.
  void read(Summary* into);

 private:
  /// One look.
  struct Batch {
    Pinned<LookTensor> tensors;
    Pinned<LookPiece> work;
    Pinned<Summary> summaries;
    Room<Moments> moments;
    Room<SummaryCounts> counts;
    Event done;
    std::size_t size = 0;
  };

  Batch& next_batch();
  void prepare(Batch& batch, std::span<const Tensor> tensors);
  void enqueue(const Batch& batch, std::uint32_t pieces, double scale, cudaStream_t stream);

  Device device_;
  std::vector<std::unique_ptr<Batch>> batches_;
  std::size_t used_ = 0;  // of the batches, since the last read
};

}  // namespace tare::kernels::cuda
