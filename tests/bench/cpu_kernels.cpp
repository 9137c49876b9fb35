// The CPU passes against what the memory of this machine can do, measured beside them.
//
//   bench_cpu_kernels [threads] [MiB] [pairs]         defaults: 2 threads, 256 MiB, 31 pairs
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/cpu/backend.hpp"
#include "kernels/fp8/cast.hpp"
#include "tests/bench/rows.hpp"

#if defined(__x86_64__)
#define MADE_FOR(...) __attribute__((target_clones(__VA_ARGS__)))
#else
#define MADE_FOR(...)  // vectors are part of every other machine's instructions
#endif

namespace {

using namespace tare;
using namespace tare::kernels;
using bench::compare;
using bench::measure;

struct Options {
  unsigned threads = 2;
  std::size_t mebibytes = 256;
  std::size_t pairs = 31;
};

volatile std::uint64_t sink;

using Words = std::uint64_t __attribute__((vector_size(32)));  // reads a little faster than 64 bytes at a time

// What a loop could be at best: nothing but loads, or loads and stores.
MADE_FOR("avx512f", "avx2", "default") std::uint64_t read_all(const Words* at, std::size_t bytes) {
  Words sums[4] = {};
  for (std::size_t i = 0; i + 4 <= bytes / sizeof(Words); i += 4) {
    for (std::size_t j = 0; j < 4; ++j) sums[j] |= at[i + j];
  }
  const Words sum = (sums[0] | sums[1]) | (sums[2] | sums[3]);
  return sum[0] | sum[1] | sum[2] | sum[3];
}

MADE_FOR("avx512f", "avx2", "default") void multiply_all(float* at, std::size_t count, float by) {
  for (std::size_t i = 0; i < count; ++i) at[i] *= by;
}

/// Splits [0, size) evenly over the threads.
void in_parallel(cpu::Workers& workers, std::size_t size, auto&& work) {
  std::atomic<std::size_t> next{0};
  const std::size_t part = (size / workers.count()) & ~std::size_t{4095};
  auto job = [&] {
    const std::size_t i = next.fetch_add(1);
    work(i * part, i + 1 == workers.count() ? size - i * part : part);
  };
  workers.run(job);
}

/// More sums than a core can calculate at once, about 10 us of them.
MADE_FOR("avx2", "default") std::uint64_t calculate() {
  Words sums[8];
  for (std::uint64_t i = 0; i < 8; ++i) sums[i] = Words{i, i + 8, i + 16, i + 24};
  for (std::uint64_t i = 0; i < 8000; ++i) {
    for (Words& sum : sums) sum += sum ^ i;
  }
  Words all = {};
  for (const Words& sum : sums) all |= sum;
  return all[0] | all[1] | all[2] | all[3];
}

/// How much longer the threads take to calculate than they ever did, the slowest of them.
class Slowdown {
 public:
  explicit Slowdown(cpu::Workers& workers) : workers_(workers) {
    for (int i = 0; i < 1000; ++i) (*this)();
  }

  double operator()() {
    std::atomic<std::int64_t> longest{0};
    auto job = [&] {
      const auto begin = std::chrono::steady_clock::now();
      sink = calculate();
      const std::int64_t time = (std::chrono::steady_clock::now() - begin).count();
      std::int64_t seen = longest;
      while (seen < time && !longest.compare_exchange_weak(seen, time)) {
      }
    };
    workers_.run(job);
    least_ = std::min<std::int64_t>(least_, longest);
    return static_cast<double>(longest) / static_cast<double>(least_);
  }

 private:
  cpu::Workers& workers_;
  std::int64_t least_ = INT64_MAX;
};

/// As DeepSpeed looks for overflow: float(), isnan, isinf, or, float, max, one array after the other.
float isnan_isinf_chain(const float* at, std::size_t count, std::vector<unsigned char>& nan,
                        std::vector<unsigned char>& inf, std::vector<float>& flags) {
  for (std::size_t i = 0; i < count; ++i) nan[i] = std::isnan(at[i]);
  for (std::size_t i = 0; i < count; ++i) inf[i] = std::isinf(at[i]);
  for (std::size_t i = 0; i < count; ++i) nan[i] = nan[i] | inf[i];
  for (std::size_t i = 0; i < count; ++i) flags[i] = nan[i];
  float greatest = 0;
  for (std::size_t i = 0; i < count; ++i) greatest = std::max(greatest, flags[i]);
  return greatest;
}

struct Buffer {
  explicit Buffer(std::size_t size)
      : memory(static_cast<std::byte*>(std::aligned_alloc(4096, size)), &std::free), bytes(size) {
    fill(Dtype::f32);
  }

  /// Values from -4 to 4, times `scale`.
  void fill(Dtype dtype, float scale = 1) {
    const auto size = static_cast<std::size_t>(size_of(dtype));
    for (std::size_t i = 0; i < bytes / size; ++i) {
      const float value = (1e-3f * static_cast<float>(i % 8191) - 4.0f) * scale;
      const std::uint64_t bits = dtype == Dtype::f64       ? bits_of(static_cast<double>(value))
                                 : dtype == Dtype::f32     ? bits_of(value)
                                 : dtype == Dtype::f16     ? narrow<F16>(value)
                                 : dtype == Dtype::bf16    ? narrow<Bf16>(value)
                                 : dtype == Dtype::f8_e5m2 ? narrow<F8E5m2>(value)
                                                           : narrow<F8E4m3fn>(value);
      std::memcpy(memory.get() + i * size, &bits, size);
    }
  }
  float* floats() { return reinterpret_cast<float*>(memory.get()); }

  std::unique_ptr<std::byte, void (*)(void*)> memory;
  std::size_t bytes;
};

void large_arrays(const Options& options, cpu::InstructionSet set) {
  Buffer buffer(options.mebibytes << 20);
  cpu::CpuBackend backend(options.threads, set);
  cpu::Workers workers(options.threads);
  const auto bytes = static_cast<double>(buffer.bytes);
  float found_inf = 0;
  Statistics total;
  const Findings findings = {.found_inf = &found_inf, .total = &total, .threshold = 1e-7};
  const float scale = 1.0f - 0x1p-20f;
  Slowdown slowdown(workers);
  const auto read = [&] {
    in_parallel(workers, buffer.bytes, [&](std::size_t begin, std::size_t size) {
      sink = read_all(reinterpret_cast<const Words*>(buffer.memory.get() + begin), size);
    });
  };
  const auto read_and_write = [&] {
    in_parallel(workers, buffer.bytes, [&](std::size_t begin, std::size_t size) {
      multiply_all(buffer.floats() + begin / 4, size / 4, 1.0f);
    });
  };
  const double wanted = set == cpu::best_instruction_set() ? 0.95 : 0;
  std::printf("\n%s, %u threads, %zu MiB\n", cpu::name_of(set), options.threads, options.mebibytes);
  struct Values {
    Dtype dtype;
    float scale;
    const char* what;
  };
  for (const auto& [dtype, times, what] : {Values{Dtype::f32, 1, "f32"},
                                           {Dtype::bf16, 1, "bf16"},
                                           {Dtype::bf16, 65536, "bf16, scaled by 65536,"},
                                           {Dtype::bf16, 0, "bf16, all zeros,"},
                                           {Dtype::f16, 1, "f16"},
                                           {Dtype::f64, 1, "f64"},
                                           {Dtype::f8_e4m3fn, 1, "f8e4m3fn"},
                                           {Dtype::f8_e5m2, 1, "f8e5m2"}}) {
    const Tensor tensor = {buffer.memory.get(), buffer.bytes / static_cast<std::size_t>(size_of(dtype)), dtype, 0};
    buffer.fill(dtype, times);
    const auto list = backend.make_list();
    list->assign(&tensor, 1, nullptr);
    const auto observe = [&] { list->observe(findings, nullptr); };
    const auto unscale = [&] { list->unscale(&scale, findings, nullptr); };
    char row[80];
    std::snprintf(row, sizeof row, "%s statistics / reading", what);
    compare(row, options.pairs, bytes, wanted, read, observe, slowdown);
    if (size_of(dtype) == 1 || times != 1) continue;
    std::snprintf(row, sizeof row, "%s in place with statistics / reading and writing", what);
    compare(row, options.pairs, 2 * bytes, wanted, read_and_write, unscale, slowdown);
  }
}

void peers(const Options& options) {
  Buffer buffer(std::size_t{64} << 20);
  const std::size_t count = buffer.bytes / 4;
  std::vector<unsigned char> nan(count), inf(count);
  std::vector<float> flags(count);
  cpu::CpuBackend backend(1);
  const auto list = backend.make_list();
  const Tensor tensor = {buffer.memory.get(), count, Dtype::f32, 0};
  list->assign(&tensor, 1, nullptr);
  std::printf("\n64 MiB of f32, 1 thread\n");
  compare(
      "statistics / isnan, isinf, or, float, max", options.pairs, static_cast<double>(buffer.bytes), 12,
      [&] { sink = isnan_isinf_chain(buffer.floats(), count, nan, inf, flags) > 0; },
      [&] { list->observe({}, nullptr); });
}

/// What it costs to tell of finite values beside others: nothing has one, and one value in each tensor of 1 MiB is nan.
void finite_values(const Options& options) {
  constexpr std::size_t tensor_bytes = std::size_t{1} << 20;
  Buffer buffer(std::size_t{64} << 20);
  const float scale = 1;
  for (const auto& [dtype, what] : {std::pair{Dtype::f32, "f32"}, {Dtype::bf16, "bf16"}}) {
    buffer.fill(dtype, 1);
    std::vector<Tensor> tensors;
    for (std::size_t at = 0; at < buffer.bytes; at += tensor_bytes) {
      tensors.push_back({buffer.memory.get() + at, tensor_bytes / static_cast<std::size_t>(size_of(dtype)), dtype, 0});
    }
    cpu::CpuBackend backend(1);
    const auto list = backend.make_list();
    list->assign(tensors.data(), tensors.size(), nullptr);
    std::vector<Statistics> each(tensors.size());
    std::vector<FiniteValues> finite(tensors.size());
    float found_inf = 0;
    Statistics total;
    const Findings without = {.found_inf = &found_inf, .total = &total, .each = each.data(), .threshold = 1e-7};
    Findings with = without;
    with.finite = finite.data();
    std::printf("\n64 MiB of %s, 1 thread: finite values told of / not\n", what);
    for (const char* state : {"all finite", "a nan in each tensor"}) {
      char row[80];
      std::snprintf(row, sizeof row, "statistics, %s", state);
      compare(
          row, options.pairs, static_cast<double>(buffer.bytes), 0, [&] { list->observe(without, nullptr); },
          [&] { list->observe(with, nullptr); });
      std::snprintf(row, sizeof row, "in place with statistics, %s", state);
      compare(
          row, options.pairs, 2.0 * static_cast<double>(buffer.bytes), 0,
          [&] { list->unscale(&scale, without, nullptr); }, [&] { list->unscale(&scale, with, nullptr); });
      for (const Tensor& tensor : tensors) std::memset(tensor.data, 0xff, static_cast<std::size_t>(size_of(dtype)));
    }
  }
}

/// To a half of the bytes belongs no more time.
void casts(const Options& options) {
  constexpr std::size_t count = std::size_t{8} << 20;
  Buffer wide(4 * count), half(2 * count), narrow(count);
  wide.fill(Dtype::f32, 1);
  half.fill(Dtype::f16, 1);
  const Tensor f32 = {wide.memory.get(), count, Dtype::f32, 0};
  const Tensor f16 = {half.memory.get(), count, Dtype::f16, 0};
  const Tensor to = {narrow.memory.get(), count, Dtype::f8_e4m3fn, 0};
  const fp8::Factor by = {3.7f, false, 448.0f};
  std::printf("\n%zu values to f8e4m3fn, 1 thread\n", count);
  compare(
      "f16 quantised / f32 quantised", options.pairs, 3.0 * count, 1, [&] { sink = fp8::quantise(f32, to, by).amax; },
      [&] { sink = fp8::quantise(f16, to, by).amax; });
}

void tiny_tensors(const Options& options, cpu::InstructionSet set) {
  std::vector<float> values(40000, 0.5f);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < 10000; ++i) tensors.push_back({values.data() + 4 * i, 4, Dtype::f32, 0});
  std::vector<Statistics> each(tensors.size());
  cpu::CpuBackend backend(options.threads, set);
  const auto list = backend.make_list();
  list->assign(tensors.data(), tensors.size(), nullptr);
  float found_inf = 0;
  Statistics total;
  const float scale = 1.0f - 0x1p-20f;
  std::printf("\n%s, 10,000 tensors of 4 f32\n", cpu::name_of(set));
  measure("statistics, each and total", options.pairs, 1, 0, 0.3e-3, [&] {
    list->observe({&found_inf, &total, each.data(), 1e-7}, nullptr);
  });
  measure("in place with statistics, each and total", options.pairs, 1, 0, 0.3e-3, [&] {
    list->unscale(&scale, {&found_inf, &total, each.data(), 1e-7}, nullptr);
  });
  measure("planned anew and in place with statistics", options.pairs, 1, 0, 0.3e-3, [&] {
    list->assign(tensors.data(), tensors.size(), nullptr);
    list->unscale(&scale, {&found_inf, &total, nullptr, 0}, nullptr);
  });
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (count > 1) options.threads = static_cast<unsigned>(std::atoi(arguments[1]));
  if (count > 2) options.mebibytes = static_cast<std::size_t>(std::atoi(arguments[2]));
  if (count > 3) options.pairs = static_cast<std::size_t>(std::atoi(arguments[3]));
  for (const auto set : cpu::instruction_sets) {
    if (cpu::is_available(set)) tiny_tensors(options, set);
  }
  peers(options);
  finite_values(options);
  casts(options);
  const auto best = cpu::best_instruction_set();
  large_arrays(options, best);
  if (best == cpu::InstructionSet::avx512) large_arrays(options, cpu::InstructionSet::avx2);
}
