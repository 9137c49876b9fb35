// Matrices quantised on the GPU with scales of their own values, by each recipe, and made values again, beside a copy
// of as many bytes as must be moved: read once, both sides written once.
#include <memory>
#include <string>

#include "kernels/cuda/quantiser.hpp"
#include "tests/bench/gpu_bench.hpp"

namespace tare::gpu_bench {
namespace {

struct MatrixRecipe {
  const char* name;
  kernels::fp8::Quantisation how;
};

constexpr MatrixRecipe matrix_recipes[] = {
    {"delayed", {kernels::fp8::Scaling::delayed, kernels::fp8::Format::e4m3, 0, 0.0f}},
    {"current", {kernels::fp8::Scaling::current, kernels::fp8::Format::e4m3, 0, 0.0f}},
    {"mxfp8", {kernels::fp8::Scaling::mxfp8, kernels::fp8::Format::e4m3, 1, 0.0f}},
    {"blockwise_1d", {kernels::fp8::Scaling::blockwise_1d, kernels::fp8::Format::e4m3, 1, 0.0f}},
    {"blockwise_2d", {kernels::fp8::Scaling::blockwise_2d, kernels::fp8::Format::e4m3, 1, 0.0f}},
    {"nvfp4", {kernels::fp8::Scaling::nvfp4, kernels::fp8::Format::e2m1, 0, 0.0f}},
};

/// `count` bf16 matrices of `rows` x `columns` in a call.
struct MatrixList {
  const char* name;
  std::size_t count;
  std::uint64_t rows;
  std::uint64_t columns;
};

struct Sides {
  const char* name;
  bool rowwise;
  bool columnwise;
};

/// A list in `memory` from `at` on, which moves behind it; 8 bytes of it at most a value, and its scales.
std::vector<kernels::fp8::Matrix> matrices_in(const Memory& memory, std::size_t& at, const MatrixList& list,
                                              const Sides& sides) {
  std::vector<kernels::fp8::Matrix> matrices;
  const auto take = [&](std::size_t bytes) {
    void* taken = memory.data() + at;
    at += (bytes + 511) / 512 * 512;
    return taken;
  };
  const std::size_t values = list.rows * list.columns;
  for (std::size_t i = 0; i < list.count; ++i) {
    kernels::fp8::Matrix matrix{};
    matrix.struct_size = sizeof matrix;
    matrix.rows = list.rows;
    matrix.columns = list.columns;
    matrix.dtype = Dtype::bf16;
    matrix.values = take(2 * values);
    if (sides.rowwise) matrix.rowwise = {take(values), take(values / 4), 0, 0};
    if (sides.columnwise) matrix.columnwise = {take(values), take(values / 4), 0, 0};
    matrix.amax = static_cast<float*>(take(sizeof(float)));
    matrix.scale = static_cast<float*>(take(sizeof(float)));
    const float one = 1.0f;
    must(cudaMemcpy(matrix.scale, &one, sizeof one, cudaMemcpyHostToDevice));
    matrices.push_back(matrix);
  }
  return matrices;
}

constexpr MatrixList lists[] = {{"64 of 4,096 x 1,024", 64, 4096, 1024},
                                {"one of 4,096 x 4,096", 1, 4096, 4096},
                                {"one of 512 x 512", 1, 512, 512}};

/// Sets of matrices that take turns, so that none is left in the cache.
class Turns {
 public:
  Turns(Bench& bench, const Memory& memory, const MatrixRecipe& recipe, const MatrixList& list, const Sides& sides)
      : bench_(bench), quantiser_(0, recipe.how) {
    memory.fill();
    std::size_t at = 0;
    do {
      sets_.push_back(matrices_in(memory, at, list, sides));
    } while (at < 4 * bench.cache() && sets_.size() < 256);
    const int side_count = (sides.rowwise ? 1 : 0) + (sides.columnwise ? 1 : 0);
    const double side = recipe.how.format == kernels::fp8::Format::e2m1 ? 0.5 : 1.0;
    bytes_ = static_cast<double>(list.count * list.rows * list.columns) * (2 + side * side_count);
  }

  double bytes() const { return bytes_; }
  double seconds_to_quantise() {
    return seconds([this](const auto& set, cudaStream_t stream) { quantiser_.quantise(set, stream); });
  }
  double seconds_to_dequantise() {
    return seconds([this](const auto& set, cudaStream_t stream) { quantiser_.dequantise(set, stream); });
  }

 private:
  using Set = std::vector<kernels::fp8::Matrix>;

  double seconds(const std::function<void(const Set&, cudaStream_t)>& run) {
    std::vector<Work> works;
    for (const Set& set : sets_) works.emplace_back([&](cudaStream_t stream) { run(set, stream); });
    return bench_.seconds(works, 1);
  }

  Bench& bench_;
  kernels::cuda::DeviceQuantiser quantiser_;
  std::vector<Set> sets_;
  double bytes_ = 0;
};

}  // namespace

void quantised_matrices(Bench& bench, const Memory& memory, double copy) {
  constexpr Sides rowwise = {"rowwise", true, false};
  constexpr Sides columnwise = {"columnwise", false, true};
  constexpr Sides both = {"both sides", true, true};
  for (const MatrixList& list : lists) {
    for (const Sides& sides : {rowwise, both}) {
      for (const MatrixRecipe& recipe : matrix_recipes) {
        Turns turns(bench, memory, recipe, list, sides);
        const std::string what = std::string(recipe.name) + ", " + list.name + ", " + sides.name;
        bench.row("G9", what.c_str(), turns.seconds_to_quantise(), turns.bytes(), copy, "");
      }
    }
  }
  for (const Sides& sides : {rowwise, columnwise}) {
    for (const MatrixRecipe& recipe : matrix_recipes) {
      Turns turns(bench, memory, recipe, lists[1], sides);
      turns.seconds_to_quantise();
      const std::string what = std::string(recipe.name) + ", " + lists[1].name + ", back from " + sides.name;
      bench.row("", what.c_str(), turns.seconds_to_dequantise(), turns.bytes(), copy, "");
    }
  }
}

}  // namespace tare::gpu_bench
