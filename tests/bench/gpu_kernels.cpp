// The GPU backend against what the card's memory can do: a device-to-device copy measured in the same run, taken in
// turns. Times are of CUDA events around graph replays, medians; every set of buffers is larger than the second-level
// cache, small ones by taking turns. tests/bench/gpu.sh runs it and adds the peers.
//
//   bench_gpu [SAMPLES]        exit 77 where there is no GPU
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "kernels/cuda/fp8.hpp"
#include "kernels/cuda/list.hpp"
#include "kernels/cuda/looks.hpp"
#include "kernels/fp8/host_slots.hpp"
#include "kernels/rule/policy.hpp"
#include "tests/bench/gpu_bench.hpp"

namespace {

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::cuda;
using namespace tare::gpu_bench;

/// Its scale is nearly 1, so that values that are unscaled again and again stay what they are.
rule::RunningState torch_rule() {
  rule::RunningState running;
  running.policy = rule::make_policy(*rule::find_policy("torch"));
  running.state = rule::with_scale(running.policy, rule::initial_state(running.policy), 1.0001).state;
  return running;
}

/// `count` tensors of together `elements`, of uneven sizes, one after another in memory, each at a multiple of `apart`
/// elements.
std::vector<Tensor> uneven(const Memory& memory, std::size_t count, std::uint64_t elements, Dtype dtype,
                           std::uint64_t apart) {
  std::vector<Tensor> tensors;
  const auto size = static_cast<std::uint64_t>(size_of(dtype));
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t share = elements / count * (i % 4 + 1) / 4 * 8 / 5 / apart * apart;
    if (i + 1 == count) share = elements - used;
    tensors.push_back({memory.data() + used * size, share, dtype, 0});
    used += share;
  }
  return tensors;
}

/// Allocators give multiples of 512 bytes; in a flat buffer tensors begin where the one before ends.
constexpr std::uint64_t as_allocated = 256;
constexpr std::uint64_t as_in_a_buffer = 8;

Work pass_of(DeviceList& list, const PassRequest& request) {
  return [&list, request](cudaStream_t stream) { list.run(request, stream); };
}

/// Read only, in place, and read then written with clipping: the three ways to treat a list.
void three_ways(Bench& bench, const Memory& memory, const char* goal, const char* name,
                const std::vector<Tensor>& tensors, double copy, const char* const (&targets)[3]) {
  DeviceScaler scaler(0, torch_rule());
  DeviceList list(scaler);
  list.assign(tensors);
  double bytes = 0;
  for (const Tensor& tensor : tensors)
    bytes += static_cast<double>(tensor.count) * static_cast<double>(size_of(tensor.dtype));
  PassRequest clip{.pass = Pass::write, .unscales = false, .clip_norm = 1.0};
  clip.outputs = tensors.data();
  const PassRequest requests[] = {{.pass = Pass::observe}, {.pass = Pass::unscale}, clip};
  const char* const words[] = {"statistics, read only", "unscale in place", "statistics, then clip in place"};
  for (int i = 0; i < 3; ++i) {
    memory.fill();
    const std::string what = std::string(name) + ": " + words[i];
    bench.row(goal, what.c_str(), bench.seconds({pass_of(list, requests[i])}, 1), bytes * (i + 1), copy, targets[i]);
  }
}

/// A list that would stay in the second-level cache takes turns with others like it.
void one_matrix(Bench& bench, const Memory& memory, double copy) {
  constexpr std::uint64_t elements = 4096 * 4096;
  memory.fill();
  DeviceScaler scaler(0, torch_rule());
  std::vector<std::unique_ptr<DeviceList>> lists;
  std::vector<Work> works;
  for (std::size_t at = 0; at + 2 * elements <= memory.bytes() && at < 16 * elements; at += 2 * elements) {
    const Tensor matrix{memory.data() + at, elements, Dtype::bf16, 0};
    lists.push_back(std::make_unique<DeviceList>(scaler));
    lists.back()->assign({&matrix, 1});
    works.push_back(pass_of(*lists.back(), {.pass = Pass::observe}));
  }
  bench.row("", "a bf16 matrix of 4,096 x 4,096: statistics, read only", bench.seconds(works, 2), 2.0 * elements, copy,
            "");
}

void large_lists(Bench& bench, const Memory& memory, double copy) {
  const std::uint64_t elements = std::min<std::uint64_t>(1536066816, memory.bytes() / 2);
  three_ways(bench, memory, "G1", "one bf16 tensor of 1.5 G", {{memory.data(), elements, Dtype::bf16, 0}}, copy,
             {"G1: >= 93 % of peak or >= 100 % of copy", "G2: >= 97 % of copy", "G2: <= 3.15 ms on 3.0 TB/s"});
  three_ways(bench, memory, "G3", "500 bf16 matrices of 225 M",
             uneven(memory, 500, 225181696, Dtype::bf16, as_allocated), copy,
             {"G3: <= 0.35 ms", "G3: >= 4x torch", "G3: <= 0.95 ms"});
  three_ways(bench, memory, "G3", "500 f32 matrices of 225 M", uneven(memory, 500, 225181696, Dtype::f32, as_allocated),
             copy, {"G3: <= 0.35 ms", "G3: >= 4x torch", "G3: <= 0.95 ms"});
  three_ways(bench, memory, "G4", "f32 main gradients, 700 M in 291",
             uneven(memory, 291, 700000000, Dtype::f32, as_in_a_buffer), copy,
             {"G4: >= 10x Megatron's chain", "", "G4: >= 3x Megatron's chain"});
}

/// The host's seconds to enqueue a pass over a list that no graph has captured.
double host_seconds(Bench& bench, DeviceScaler& scaler, std::span<const Tensor> tensors) {
  constexpr int rounds = 50;
  DeviceList list(scaler);
  list.assign(tensors);
  list.run({.pass = Pass::unscale}, bench.stream());
  must(cudaStreamSynchronize(bench.stream()));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) list.run({.pass = Pass::unscale}, bench.stream());
  const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  must(cudaStreamSynchronize(bench.stream()));
  return taken / rounds;
}

/// Sets of `count` tiny tensors that take turns, so that none is left in the cache.
void tiny_tensors(Bench& bench, const Memory& memory) {
  DeviceScaler scaler(0, torch_rule());
  std::vector<std::unique_ptr<DeviceList>> lists;
  std::vector<Work> works;
  constexpr std::size_t stride = 4096;  // between tensors: each in memory of its own
  const std::size_t sets = std::clamp<std::size_t>(memory.bytes() / (10000 * stride), 1, 8);
  std::vector<Tensor> tensors;
  for (std::size_t set = 0; set < sets; ++set) {
    tensors.clear();
    for (std::size_t i = 0; i < 10000; ++i) {
      tensors.push_back({memory.data() + (set * 10000 + i) * stride, 4, Dtype::f32, 0});
    }
    lists.push_back(std::make_unique<DeviceList>(scaler));
    lists.back()->assign(tensors);
    works.push_back(pass_of(*lists.back(), {.pass = Pass::unscale}));
  }
  bench.row("G5", "10,000 tensors of 4: unscale in place, GPU", bench.seconds(works, 4), "<= 15 us");
  bench.row("G5", "10,000 tensors of 4: unscale in place, host", host_seconds(bench, scaler, tensors), "<= 10 us");
  DeviceList empty(scaler);
  empty.assign({});
  bench.row("G6", "a step of nothing: observe and update, one launch",
            bench.seconds({pass_of(empty, {.pass = Pass::observe, .steps = true})}, 50), "<= 3.5 us");
}

void fp8_slots_and_casts(Bench& bench, const Memory& memory, double copy) {
  using tare::kernels::fp8::HostSlots;
  const std::vector<float> fp8_max(10000, 448.0f);
  for (const std::uint32_t length : {16u, 1024u}) {
    const std::size_t set_bytes = std::size_t{10000} * 4 * (length + 64);
    std::vector<std::unique_ptr<DeviceSlots>> sets;
    std::vector<Work> works;
    for (std::size_t i = 0; i < 4 * bench.cache() / set_bytes + 1 && i < 64; ++i) {
      sets.push_back(std::make_unique<DeviceSlots>(
          0, HostSlots({}, {tare::kernels::fp8::Layout::transformer_engine, length}, fp8_max).arrays()));
      sets.back()->step(bench.stream());
      DeviceSlots& set = *sets.back();
      works.emplace_back([&set](cudaStream_t stream) { set.step(stream); });
    }
    const std::string what = "10,000 FP8 slots, history of " + std::to_string(length);
    bench.row("G7", what.c_str(), bench.seconds(works, 4), "<= 5 us, whatever the length");
  }
  memory.fill();
  const std::vector<Tensor> inputs = uneven(memory, 500, 225181696, Dtype::bf16, as_allocated);
  const std::vector<float> one_each(500, 448.0f);
  const HostSlots like({}, {tare::kernels::fp8::Layout::transformer_engine, 16}, one_each);
  DeviceSlots slots(0, like.arrays());
  std::vector<Tensor> outputs;
  std::vector<std::uint32_t> slot_of;
  std::size_t at = 225181696 * 2;
  for (const Tensor& input : inputs) {
    outputs.push_back({memory.data() + at, input.count, Dtype::f8_e4m3fn, 0});
    slot_of.push_back(static_cast<std::uint32_t>(slot_of.size()));
    at += (input.count + 15) / 16 * 16;
  }
  CastList list(slots);
  list.assign(inputs, slot_of.data());
  const double time = bench.seconds({[&](cudaStream_t stream) { list.quantise(outputs.data(), stream); }}, 1);
  bench.row("G8", "500 bf16 matrices of 225 M to e4m3, with amax", time, 3.0 * 225181696, copy, ">= 98 % of copy");
}

/// All that a monitor tells of tensors.
void looks_at_tensors(Bench& bench, const Memory& memory, double copy) {
  memory.fill();
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16, Dtype::f32}) {
    const std::vector<Tensor> tensors = uneven(memory, 500, 225181696, dtype, as_allocated);
    DeviceLooks looks(0);
    const double time = bench.seconds_of_call([&](cudaStream_t stream) { looks.add(tensors, {1}, stream); });
    const std::string what = std::string("a monitor's look at 500 ") + name_of(dtype) + " matrices of 225 M";
    bench.row("", what.c_str(), time, 225181696.0 * static_cast<double>(size_of(dtype)), copy, "");
  }
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) {
    std::printf("NOT RUN: no GPU here: %s\n", cudaGetErrorString(result));
    return 77;
  }
  cudaDeviceProp properties;
  must(cudaGetDeviceProperties(&properties, 0));
  Bench bench(argc > 1 ? std::max(1, std::atoi(argv[1])) : 31);
  const Memory memory(std::min<std::size_t>(3072133632, properties.totalGlobalMem / 2));
  const double copy = bench.copy_rate(memory);
  std::printf("%s, sm_%d%d, %d multiprocessors, peak %.0f GB/s, copy %.0f GB/s (read + written)\n", properties.name,
              properties.major, properties.minor, properties.multiProcessorCount, bench.peak() / 1e9, copy / 1e9);
  large_lists(bench, memory, copy);
  one_matrix(bench, memory, copy);
  tiny_tensors(bench, memory);
  fp8_slots_and_casts(bench, memory, copy);
  looks_at_tensors(bench, memory, copy);
  quantised_matrices(bench, memory, copy);
  std::printf("copy at the end: %.0f GB/s\n", bench.copy_rate(memory) / 1e9);
  return 0;
}
