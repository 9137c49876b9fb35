// A GPU: finding it, making it current for a moment, memory on it, and what CUDA says when something goes wrong.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/backend_edge.hpp"
#include "kernels/cuda/kernels.hpp"

namespace tare::kernels::cuda {

/// What CUDA refused, in its own words, or what tare refuses itself.
class Failure : public Refusal {
 public:
  Failure(const std::string& message, cudaError_t error)
      : Refusal(error == cudaErrorMemoryAllocation ? out_of_memory : backend_failed, error, message,
                error == cudaErrorMemoryAllocation ? "" : "\"device\":\"cpu\" needs no GPU.") {}
};

/// Throws a Failure that says what was tried. An error that an earlier kernel left behind is told as such: every call
/// returns it from then on, whoever's kernel it was.
void check(cudaError_t result, const char* tried);

/// A capture of work into a graph. Numbers are never given out again.
using Capture = unsigned long long;
inline constexpr Capture no_capture = 0;

/// The capture that a stream is part of. Throws a Failure where that cannot be told (the legacy stream while a blocking
/// stream is captured), or the capture was lost before.
Capture capture_of(cudaStream_t stream);
/// For what waits: throws a Failure, and the capture goes on.
void require_uncaptured(cudaStream_t stream);

/// While it lives, its thread may make and free memory, whoever captures a stream meanwhile, and no capture is lost.
class CapturesGoOn {
 public:
  CapturesGoOn() { cudaThreadExchangeStreamCaptureMode(&before_); }
  ~CapturesGoOn() { cudaThreadExchangeStreamCaptureMode(&before_); }
  CapturesGoOn(const CapturesGoOn&) = delete;
  CapturesGoOn& operator=(const CapturesGoOn&) = delete;

 private:
  cudaStreamCaptureMode before_ = cudaStreamCaptureModeRelaxed;
};

/// Makes a device current for its own lifetime and thread; then whatever context was current before is so again, even
/// none. Captures go on meanwhile. Throws a Failure where the device has been broken before.
class OnDevice {
 public:
  explicit OnDevice(int ordinal);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  CUcontext before_ = nullptr;
  CapturesGoOn captures_go_on_;
};

class Device {
 public:
  /// Throws a Failure that names what the driver said.
  explicit Device(int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  /// As many blocks as the device runs at once, or fewer where there is less to do; one at least.
  unsigned blocks_for(Kernel kernel, std::uint64_t wanted) const;
  /// The most that blocks_for gives.
  unsigned most_blocks() const;
  unsigned multiprocessors() const { return static_cast<unsigned>(multiprocessors_); }
  /// `argument`: the kernel's one parameter.
  void launch(Kernel kernel, unsigned blocks, unsigned threads, const void* argument, cudaStream_t stream) const;
  /// A stream of its own, that nobody captures and no other stream waits for: for what must be there when a call
  /// returns.
  cudaStream_t own_stream() const { return own_stream_; }
  /// Waits for its own stream.
  void finish_own() const;

 private:
  struct Loaded {
    Kernel kernel;
    unsigned resident;  // blocks on the whole device
  };
  /// Nothing is loaded later, when a stream may be in capture.
  void load_kernels();

  int ordinal_;
  int multiprocessors_ = 1;
  cudaStream_t own_stream_ = nullptr;
  static constexpr int most_kernels = 64;
  Loaded loaded_[most_kernels] = {};
  int loaded_count_ = 0;
};

struct DeviceMemory {
  static void make(void** data, std::size_t bytes) { check(cudaMalloc(data, bytes), "allocate memory"); }
  static void release(void* data) { cudaFree(data); }
};

/// Room for trivially copyable values, in device memory or of another kind; grows, never shrinks, and does not keep its
/// values when it grows.
template <class T, class Memory = DeviceMemory>
class Room {
 public:
  Room() = default;
  ~Room() { release(); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// Throws a Failure where there is no memory; the old room is then still there.
  void reserve(std::size_t count) {
    if (count <= count_) return;
    void* data = nullptr;
    Memory::make(&data, count * sizeof(T));
    release();
    data_ = static_cast<T*>(data);
    count_ = count;
  }
  T* data() const { return data_; }

 private:
  void release() {
    if (data_ == nullptr) return;
    const CapturesGoOn captures_go_on;
    Memory::release(data_);
    data_ = nullptr;
    count_ = 0;
  }

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace tare::kernels::cuda
