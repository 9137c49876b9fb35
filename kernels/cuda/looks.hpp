// What is to be known of a GPU's tensors, lists and scalers, found out without a wait: it lies in pinned memory of the
// host once the GPU has got there.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/list.hpp"
#include "kernels/cuda/look.hpp"
#include "kernels/cuda/pinned.hpp"

namespace tare::kernels::cuda {

/// Looks, one after another, and what they saw. Memory is kept from one round of looks to the next, which is another
/// such round. Throws Failures and std::bad_alloc. None can be captured; all wait where there is not yet the memory for
/// them.
class DeviceLooks {
 public:
  explicit DeviceLooks(int device);
  ~DeviceLooks();
  DeviceLooks(const DeviceLooks&) = delete;
  DeviceLooks& operator=(const DeviceLooks&) = delete;

  const Device& device() const { return device_; }
  /// Enqueues a look at tensors, behind whatever writes the scale, too; memory that the device cannot reach is refused.
  void add(std::span<const Tensor> tensors, const BorneScale& scale, cudaStream_t stream);
  /// At what a list of this device found.
  void add(DeviceList& list, cudaStream_t stream);
  /// At somebody else's scaler.
  void add(const ScalerPlaces& places, cudaStream_t stream);
  /// Whether all looks have finished.
  bool are_done() const;
  /// Waits for all looks since the last read, and copies what they saw: one `into` a look, in their order.
  void read(const tare_backend_seen* into);

 private:
  /// One look, of any kind: what it does not need has no memory.
  struct Batch {
    Pinned<LookTensor> tensors;
    Pinned<LookPiece> work;
    Pinned<Summary> summaries;
    Room<Moments> moments;
    Room<SummaryCounts> counts;
    Pinned<Statistics> statistics;
    Pinned<FiniteValues> finite;
    Pinned<ListCore> list;
    Pinned<ScalerCore> scaler;
    Pinned<ScalerStanding> standing;
    Event done;
    std::size_t size = 0;  // of summaries or statistics
  };

  template <class Enqueue>
  void look(cudaStream_t stream, const Enqueue& enqueue);
  void prepare(Batch& batch, std::span<const Tensor> tensors);
  void enqueue(const Batch& batch, std::uint32_t pieces, const BorneScale& scale, cudaStream_t stream);

  Device device_;
  std::vector<std::unique_ptr<Batch>> batches_;
  std::size_t used_ = 0;  // of the batches, since the last read
};

}  // namespace tare::kernels::cuda
