// From a work list to what a launch is given. Pure host code, the same for launches and for simulated ones.
#pragma once

#include <algorithm>

#include "kernels/cuda/pass.hpp"

namespace tare::kernels::cuda {

/// Where a list's tables are, in the memory of the device.
struct Tables {
  const WorkPiece* pieces = nullptr;
  const Binding* inputs = nullptr;
  double* sums = nullptr;
  PieceCounts* counts = nullptr;
  BlockCounts* block_counts = nullptr;
  std::uint32_t* ticket = nullptr;
  std::uint32_t* cursor = nullptr;
};

inline Binding binding_of(const Tensor& tensor) {
  return {static_cast<unsigned char*>(tensor.data), static_cast<std::int32_t>(tensor.dtype), 0};
}

/// A pass over the whole list that reads only, up to what the caller sets.
inline PassArguments arguments_for(const WorkList& work, const Tables& tables, double threshold) {
  PassArguments pass = {};
  pass.pieces = tables.pieces;
  pass.inputs = tables.inputs;
  pass.sums = tables.sums;
  pass.counts = tables.counts;
  pass.block_counts = tables.block_counts;
  pass.ticket = tables.ticket;
  pass.cursor = tables.cursor;
  std::ranges::copy(work.segments(), pass.segments);
  pass.segment_count = static_cast<std::int32_t>(work.segments().size());
  pass.items = work.items();
  pass.piece_count = static_cast<std::uint32_t>(work.pieces().size());
  pass.elements = work.elements();
  for (const Segment& segment : work.segments()) {
    pass.threshold_pattern[segment.dtype] = pattern_of_threshold(static_cast<Dtype>(segment.dtype), threshold);
  }
  pass.limit = __builtin_inff();
  pass.folds = 1;
  return pass;
}

/// The dtype of all tensors of a list; 0 where there are several.
inline Dtype only_dtype(const WorkList& work) {
  if (work.segments().empty()) return Dtype{0};
  const std::int32_t first = work.segments().front().dtype;  // segments are in the order of dtypes
  return work.segments().back().dtype == first ? static_cast<Dtype>(first) : Dtype{0};
}

template <class Program>
using ForAll = For<Program, Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::f8_e4m3fn, Dtype::f8_e5m2>;
template <class Program>
using ForWritable = For<Program, Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16>;

}  // namespace tare::kernels::cuda
