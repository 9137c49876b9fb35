// Memory of the host that a GPU reads and writes where it lies, and events to wait for it.
#pragma once

#include "kernels/cuda/device.hpp"

namespace tare::kernels::cuda {

/// Room for trivially copyable values; as Room, in the host's memory.
template <class T>
class Pinned {
 public:
  Pinned() = default;
  ~Pinned() { release(); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  /// Throws a Failure where there is no memory; the old room is then still there.
  void reserve(std::size_t count) {
    if (count <= count_) return;
    void* data = nullptr;
    check(cudaMallocHost(&data, count * sizeof(T)), "allocate pinned memory");
    release();
    data_ = static_cast<T*>(data);
    count_ = count;
  }
  T* data() const { return data_; }

 private:
  void release() {
    if (data_ == nullptr) return;
    const CapturesGoOn captures_go_on;
    cudaFreeHost(data_);
    data_ = nullptr;
    count_ = 0;
  }

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

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
