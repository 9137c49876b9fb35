// What the benchmarks of the GPU stand on: memory with values in it, and times of graphs' replays.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

namespace tare::gpu_bench {

inline void must(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(result));
  std::exit(1);
}

/// Random bf16 values around 1, as bytes that are also fine floats, until somebody writes.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes) {
    must(cudaMalloc(reinterpret_cast<void**>(&data_), bytes));
    fill();
  }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  unsigned char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  /// Anew: what was written as one dtype is anything as another, infinities and NaN among it.
  void fill() const {
    std::mt19937_64 random(1);
    std::vector<std::uint16_t> block(std::min<std::size_t>(bytes_, 64 << 20) / 2 + 1);
    for (std::uint16_t& value : block) value = static_cast<std::uint16_t>(0x3c00 + random() % 0x0700);
    for (std::size_t at = 0; at < bytes_; at += block.size() * 2) {
      must(cudaMemcpy(data_ + at, block.data(), std::min(block.size() * 2, bytes_ - at), cudaMemcpyHostToDevice));
    }
  }

 private:
  unsigned char* data_ = nullptr;
  std::size_t bytes_;
};

using Work = std::function<void(cudaStream_t)>;

class Bench {
 public:
  explicit Bench(int samples) : samples_(samples) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    must(cudaEventCreate(&begin_));
    must(cudaEventCreate(&end_));
    int megahertz = 0;
    int width = 0;
    must(cudaDeviceGetAttribute(&megahertz, cudaDevAttrMemoryClockRate, 0));
    must(cudaDeviceGetAttribute(&width, cudaDevAttrGlobalMemoryBusWidth, 0));
    must(cudaDeviceGetAttribute(&cache_, cudaDevAttrL2CacheSize, 0));
    peak_ = 2e3 * megahertz * width / 8;
  }
  cudaStream_t stream() const { return stream_; }
  std::size_t cache() const { return static_cast<std::size_t>(cache_); }
  double peak() const { return peak_; }  ///< bytes a second

  /// Seconds of one of the works, which take turns inside a captured graph.
  double seconds(const std::vector<Work>& works, int rounds) {
    for (const Work& work : works) work(stream_);  // everything is allocated and bound
    must(cudaStreamSynchronize(stream_));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < rounds; ++i) {
      for (const Work& work : works) work(stream_);
    }
    must(cudaStreamEndCapture(stream_, &graph));
    must(cudaGraphInstantiate(&replay, graph, 0));
    const double seconds = median_of([&] { must(cudaGraphLaunch(replay, stream_)); });
    must(cudaGraphExecDestroy(replay));
    must(cudaGraphDestroy(graph));
    return seconds / rounds / static_cast<double>(works.size());
  }

  /// Of work that no graph takes.
  double seconds_of_call(const Work& work) {
    return median_of([&] { work(stream_); });
  }

  /// Bytes a second of a copy, read and written ones counted. Not in a graph, where the driver takes a slower engine.
  double copy_rate(const Memory& memory) {
    const std::size_t half = memory.bytes() / 2;
    const auto copy = [&] {
      must(cudaMemcpyAsync(memory.data() + half, memory.data(), half, cudaMemcpyDeviceToDevice, stream_));
    };
    return 2.0 * static_cast<double>(half) / median_of(copy);
  }

  /// A row about memory: `bytes` that must be moved.
  void row(const char* goal, const char* what, double time, double bytes, double copy, const char* target) const {
    const double rate = bytes / time;
    std::printf("%-4s %-58s %10.2f us %7.1f GB/s %6.1f %% of copy %6.1f %% of peak   %s\n", goal, what, time * 1e6,
                rate / 1e9, 100 * rate / copy, 100 * rate / peak_, target);
    std::fflush(stdout);
  }
  /// A row about a time.
  void row(const char* goal, const char* what, double time, const char* target) const {
    std::printf("%-4s %-58s %10.2f us%52s%s\n", goal, what, time * 1e6, "", target);
    std::fflush(stdout);
  }

 private:
  /// Seconds of the GPU's time.
  double median_of(const std::function<void()>& enqueue) {
    std::vector<float> times;
    for (int i = 0; i < samples_ + 3; ++i) {
      must(cudaEventRecord(begin_, stream_));
      enqueue();
      must(cudaEventRecord(end_, stream_));
      must(cudaEventSynchronize(end_));
      float milliseconds = 0;
      must(cudaEventElapsedTime(&milliseconds, begin_, end_));
      if (i >= 3) times.push_back(milliseconds);
    }
    std::ranges::sort(times);
    return static_cast<double>(times[times.size() / 2]) * 1e-3;
  }

  int samples_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  int cache_ = 0;
  double peak_ = 0;
};

/// The rows of gpu_matrices.cpp.
void quantised_matrices(Bench& bench, const Memory& memory, double copy);

}  // namespace tare::gpu_bench
