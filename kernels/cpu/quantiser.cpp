#include "kernels/cpu/quantiser.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "kernels/backend_edge.hpp"
#include "kernels/cpu/fp_environment.hpp"

namespace tare::kernels::cpu {
namespace {

using fp8::Matrix;
using fp8::Scaling;

// Below this it takes longer to wake a thread than to do its work.
constexpr std::uint64_t least_parallel_values = std::uint64_t{1} << 18;

/// The parts of a matrix, row after row of them.
struct Parts {
  std::uint32_t rows;  // of a part
  std::uint32_t columns;
  std::uint64_t across;
  std::uint64_t count;

  Parts(Scaling scaling, const Matrix& matrix)
      : rows(part_rows(scaling)),
        columns(part_columns(scaling)),
        across(fp8::quotient_up(matrix.columns, columns)),
        count(across * fp8::quotient_up(matrix.rows, rows)) {}

  Part at(std::uint64_t index, const Matrix& matrix) const {
    const std::uint64_t row = index / across * rows;
    const std::uint64_t column = index % across * columns;
    const auto smaller = [](std::uint32_t most, std::uint64_t left) {
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, left));
    };
    return {row, column, smaller(rows, matrix.rows - row), smaller(columns, matrix.columns - column)};
  }
};

void raise(std::atomic<std::uint32_t>& to, std::uint32_t amax) {
  std::uint32_t before = to.load(std::memory_order_relaxed);
  while (before < amax && !to.compare_exchange_weak(before, amax, std::memory_order_relaxed)) {
  }
}

std::vector<std::unique_ptr<MatrixPanel>> panels_for(unsigned threads, const fp8::Quantisation& how,
                                                     const PanelTable& code) {
  std::vector<std::unique_ptr<MatrixPanel>> panels;
  for (unsigned i = 0; i < threads; ++i) panels.push_back(std::make_unique<MatrixPanel>(how, code));
  return panels;
}

}  // namespace

Quantiser::Quantiser(unsigned threads, const fp8::Quantisation& how, InstructionSet set)
    : how_(how), panels_(panels_for(threads, how, panels_of(set))), workers_(threads), owner_(getpid()) {}

template <class Work>
std::uint32_t Quantiser::each_part(const Matrix& matrix, const Work& work) {
  const Parts parts(how_.scaling, matrix);
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint32_t> thread{0};
  std::atomic<std::uint32_t> amax{0};
  auto take = [&] {
    const FpEnvironment environment;
    MatrixPanel& panel = *panels_[thread.fetch_add(1, std::memory_order_relaxed)];
    for (std::uint64_t i = next.fetch_add(1, std::memory_order_relaxed); i < parts.count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      raise(amax, work(panel, parts.at(i, matrix)));
    }
  };
  if (workers_.count() == 1 || matrix.rows * matrix.columns < least_parallel_values) {
    take();
  } else if (getpid() != owner_) {
    throw Refusal(refused, 0, "the quantizer was made in another process, and its threads are there",
                  "After fork, make a new one.");
  } else {
    workers_.run(take);
  }
  return amax;
}

void Quantiser::quantise(const Matrix& matrix) {
  float of_matrix = how_.scaling == Scaling::delayed ? *matrix.scale : 1;
  if (fp8::looks_first(how_.scaling)) {
    const float amax =
        float_from(each_part(matrix, [&](MatrixPanel& panel, const Part& part) { return panel.amax(matrix, part); }));
    of_matrix = fp8::matrix_scale(how_, amax);
    if (matrix.amax != nullptr) *matrix.amax = amax;
    if (matrix.scale != nullptr) *matrix.scale = of_matrix;
  }
  if (fp8::block_length(how_.scaling) == 0) {
    const std::uint32_t kept = block_scale(how_, 0, matrix.dtype, of_matrix).kept;
    for (const fp8::Side& side : {matrix.rowwise, matrix.columnwise}) {
      if (side.scales != nullptr) store_scale(how_.scaling, side.scales, 0, kept);
    }
  }
  const std::uint32_t seen =
      each_part(matrix, [&](MatrixPanel& panel, const Part& part) { return panel.quantise(matrix, part, of_matrix); });
  if (how_.scaling == Scaling::delayed && matrix.amax != nullptr) {
    *matrix.amax = float_from(std::max(bits_of(*matrix.amax), seen));
  }
}

void Quantiser::quantise(std::span<const Matrix> matrices) {
  for (const Matrix& matrix : matrices) quantise(with_strides(how_, matrix));
}

void Quantiser::dequantise(std::span<const Matrix> matrices) {
  for (const Matrix& given : matrices) {
    const Matrix matrix = with_strides(how_, given);
    each_part(matrix, [&](MatrixPanel& panel, const Part& part) {
      panel.dequantise(matrix, part);
      return 0u;
    });
  }
}

}  // namespace tare::kernels::cpu
