// Arrays on the GPU beside those of the CPU's tests, and a scaler to send findings to.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/list.hpp"
#include "kernels/rule/policy.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cpu/reference.hpp"
#if defined(TARE_SIMULATED)
#include "tests/gpu/simulated/machine.hpp"
#endif

namespace tare::kernels::test {

/// A simulated GPU gets smaller lists, an interpreted one a sample as well of what takes long, unless PTX_ALL is set.
#if defined(TARE_SIMULATED)
inline bool is_sampled() {
  return interprets() && std::getenv("PTX_ALL") == nullptr;
}
inline std::uint64_t share() {
  return is_sampled() ? 2000 : 30;
}
inline std::uint64_t sample() {
  return is_sampled() ? 64 : 1;
}
#else
constexpr std::uint64_t share() {
  return 1;
}
constexpr std::uint64_t sample() {
  return 1;
}
#endif

inline void must(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

/// Bytes are on the GPU when this returns, whichever stream looks at them then. (A copy from pageable memory, or a
/// memset, is on its way on the legacy stream when it returns.)
inline void upload(void* to, const void* from, std::size_t size) {
  must(cudaMemcpy(to, from, size, cudaMemcpyHostToDevice));
  must(cudaDeviceSynchronize());
}

class GpuStream {
 public:
  GpuStream() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~GpuStream() { cudaStreamDestroy(stream_); }
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait() const { must(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Bytes on the GPU that go away.
class GpuBytes {
 public:
  explicit GpuBytes(std::size_t size) : size_(size) { must(cudaMalloc(&data_, size + 1)); }
  ~GpuBytes() { cudaFree(data_); }
  GpuBytes(const GpuBytes&) = delete;
  GpuBytes& operator=(const GpuBytes&) = delete;
  unsigned char* data() const { return static_cast<unsigned char*>(data_); }
  std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_;
};

/// All arrays in one allocation, each at the same place within 16 bytes as on the CPU, with a margin behind it.
class GpuArrays {
 public:
  explicit GpuArrays(std::vector<Array>& arrays) : arrays_(arrays) {
    std::size_t total = 0;
    for (Array& array : arrays) {
      const std::size_t skew = reinterpret_cast<std::uintptr_t>(array.tensor().data) % 16;
      offsets_.push_back(total + skew);
      total += (skew + bytes_of(array) + 64 + 15) / 16 * 16;
    }
    bytes_ = std::make_unique<GpuBytes>(total);
    upload();
  }

  /// As they are on the CPU now.
  void upload() {
    must(cudaMemset(bytes_->data(), 0x5a, bytes_->size()));
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      must(cudaMemcpy(at(i), arrays_[i].tensor().data, bytes_of(arrays_[i]), cudaMemcpyHostToDevice));
    }
    must(cudaDeviceSynchronize());
  }
  std::vector<Tensor> tensors() const {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      tensors.push_back({at(i), arrays_[i].count(), arrays_[i].dtype(), 0});
    }
    return tensors;
  }
  /// How many arrays differ from `expected` in a bit, or were written beyond their ends.
  std::size_t different_from(std::vector<Array>& expected) const {
    std::vector<unsigned char> all(bytes_->size());
    must(cudaMemcpy(all.data(), bytes_->data(), all.size(), cudaMemcpyDeviceToHost));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const unsigned char* have = all.data() + offsets_[i];
      const std::size_t size = bytes_of(arrays_[i]);
      bool same = std::memcmp(have, expected[i].tensor().data, size) == 0;
      for (std::size_t k = size; k < size + 32; ++k) same = same && have[k] == 0x5a;
      wrong += same ? 0 : 1;
    }
    return wrong;
  }

 private:
  static std::size_t bytes_of(const Array& array) { return static_cast<std::size_t>(array.count()) * array.size(); }
  unsigned char* at(std::size_t i) const { return bytes_->data() + offsets_[i]; }

  std::vector<Array>& arrays_;
  std::vector<std::size_t> offsets_;
  std::unique_ptr<GpuBytes> bytes_;
};

inline rule::RunningState running_of(const char* policy) {
  rule::RunningState running;
  running.policy = rule::make_policy(*rule::find_policy(policy));
  rule::prepare(running.policy);
  running.state = rule::initial_state(running.policy);
  return running;
}

/// A scaler of torch's rule with that scale.
inline rule::RunningState torch_at(double scale) {
  rule::RunningState running = running_of("torch");
  running.state = rule::with_scale(running.policy, running.state, scale).state;
  return running;
}

}  // namespace tare::kernels::test
