// Tensors of a list in which a value is not finite, looked at once more: what their finite values are like, with the
// CPU's bits. A warp takes a piece, whose squares are added in the order of the elements; pieces without such a value
// are passed by. To be launched behind a pass that found what is in the pieces, and before anything is written over
// them.
#pragma once

#include "kernels/cuda/pass.hpp"
#include "kernels/finite_values.hpp"
#include "kernels/summarise.hpp"

namespace tare::kernels::cuda {

struct TornArguments {
  const WorkPiece* pieces;
  const Binding* inputs;
  const double* sums;  ///< as the pass left them, here and below
  const PieceCounts* counts;
  const TensorPieces* tensors;
  const Statistics* each;    ///< of the second kernel: each tensor's
  FiniteValues* of_pieces;   ///< by the piece's number in the plan: of those where a value is not finite
  FiniteValues* of_tensors;  ///< of the second kernel
  std::uint32_t piece_count;
  std::uint32_t tensor_count;
};

/// Where a piece's values are all finite, what the pass found of it is all there is to know.
TARE_HD inline bool is_torn(const PieceCounts& found) {
  return !is_finite(double_from(found.max_bits));
}

/// Of a row of values, one a lane: adds them to what the lanes have had. The sum is the same in all lanes.
template <class E>
TARE_HD inline void add_row(const typename E::Bits* row, std::uint32_t count, PerLane<FiniteValues>& lanes) {
  PerLane<double> squares;
  each_lane([&](int i) {
    squares.value[i] = 0;
    if (static_cast<std::uint32_t>(lane_at(i)) >= count) return;
    FiniteValues& seen = lanes.value[i];
    const auto value = static_cast<double>(stored_value<E>(row[lane_at(i)]));
    if (!is_finite(value)) {
      ++(is_nan(value) ? seen.nans : seen.infinities);
      return;
    }
    seen.max_abs = larger(seen.max_abs, __builtin_fabs(value));
    squares.value[i] = value * value;
  });
  unrolled<warp_lanes>([&](int source) {
    PerLane<double> one = squares;
    take_from([&](int i) -> double& { return one.value[i]; }, [source](int) { return source; });
    each_lane([&](int i) { lanes.value[i].sum_of_squares += one.value[i]; });
  });
}

template <class E>
TARE_HD inline FiniteValues finite_values_of(const unsigned char* data, std::uint32_t count) {
  const auto* values = reinterpret_cast<const typename E::Bits*>(data);
  PerLane<FiniteValues> lanes = {};
  for (std::uint32_t first = 0; first < count; first += warp_lanes) {
    add_row<E>(values + first, smaller(count - first, std::uint32_t{warp_lanes}), lanes);
  }
  const auto plus = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
    combine_across(
        mask, [&](int i) -> std::uint64_t& { return lanes.value[i].nans; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint64_t& { return lanes.value[i].infinities; }, plus);
    combine_across(
        mask, [&](int i) -> double& { return lanes.value[i].max_abs; },
        [](double a, double b) { return larger(a, b); });
  }
  return lanes.value[0];
}

TARE_HD inline FiniteValues finite_values_of(Dtype dtype, const unsigned char* data, std::uint32_t count) {
  switch (dtype) {
    case Dtype::f32:
      return finite_values_of<Element<Dtype::f32>>(data, count);
    case Dtype::f64:
      return finite_values_of<Element<Dtype::f64>>(data, count);
    case Dtype::f16:
      return finite_values_of<Element<Dtype::f16>>(data, count);
    case Dtype::bf16:
      return finite_values_of<Element<Dtype::bf16>>(data, count);
    case Dtype::f8_e4m3fn:
      return finite_values_of<Element<Dtype::f8_e4m3fn>>(data, count);
    case Dtype::f8_e5m2:
      return finite_values_of<Element<Dtype::f8_e5m2>>(data, count);
  }
  return {};
}

/// A warp's, with the piece that has this place in the work.
TARE_HD inline void look_at_torn(const TornArguments& all, std::uint32_t place) {
  const WorkPiece piece = all.pieces[place];
  if (!is_torn(all.counts[piece.found])) return;
  const Binding& tensor = all.inputs[piece.tensor];
  const auto dtype = static_cast<Dtype>(tensor.dtype);
  const unsigned char* data = tensor.data + piece.offset * static_cast<std::uint64_t>(size_of(dtype));
  const FiniteValues found = finite_values_of(dtype, data, piece.count);
  each_lane([&](int i) {
    if (lane_at(i) == 0) all.of_pieces[piece.found] = found;
  });
}

/// A thread's, with a tensor whose pieces have been looked at.
TARE_HD inline void finish_torn(const TornArguments& all, std::uint32_t tensor) {
  const TensorPieces own = all.tensors[tensor];
  all.of_tensors[tensor] = finite_of(all.each[tensor], own.pieces, [&](std::uint32_t i) {
    const std::uint32_t number = own.first + i;
    const PieceCounts& found = all.counts[number];
    if (is_torn(found)) return all.of_pieces[number];
    return FiniteValues{0, 0, double_from(found.max_bits), all.sums[number]};
  });
}

}  // namespace tare::kernels::cuda
