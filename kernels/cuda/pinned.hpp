// Memory of the host that a GPU reads and writes where it lies, and events to wait for it.
#pragma once

#include "kernels/cuda/device.hpp"

namespace tare::kernels::cuda {

struct PinnedMemory {
  static void make(void** data, std::size_t bytes) { check(cudaMallocHost(data, bytes), "allocate pinned memory"); }
  static void release(void* data) { cudaFreeHost(data); }
};

template <class T>
using Pinned = Room<T, PinnedMemory>;

/// A place in a stream. The device is current at every call.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "make an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "record an event"); }
  bool is_done() const {
    const cudaError_t result = cudaEventQuery(event_);
    if (result == cudaErrorNotReady) return false;
    check(result, "ask for an event");
    return true;
  }
  void wait() const { check(cudaEventSynchronize(event_), "wait for an event"); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace tare::kernels::cuda
