// The sums of kernels/summarise.hpp, in its order: those of a chunk's lanes, then a tree (summarise-inl.hpp); pieces,
// chains. Exponents are counted alone, and become rows at the end.
#include "kernels/cpu/summarise.hpp"

#include <algorithm>
#include <memory>

#include "kernels/summarise.hpp"

namespace tare::kernels::cpu {
namespace {

using cuda::PerLane;
using cuda::SummaryCounts;
using cuda::warp_lanes;

static_assert(chunk_values == cuda::chunk_elements);

template <class E>
double smallest_normal() {
  constexpr auto pattern = static_cast<typename E::Bits>(cuda::Patterns<E::dtype>::normal);
  return static_cast<double>(cuda::stored_value<E>(pattern));
}

void add_counts(SummaryCounts& into, const ChunkSeen& chunk) {
  into.nans += chunk.nans;
  into.infinities += chunk.infinities;
  into.rows[SummaryCounts::zero] += chunk.zeros;
  into.subnormals += chunk.subnormals;
}

Moments moments_of(const ChunkSeen& chunk) {
  Moments moments;
  if (chunk.kept == 0) return moments;
  moments.count = chunk.kept;
  moments.mean = chunk.mean;
  moments.mean_abs = chunk.mean_abs;
  moments.squares_about_mean = chunk.squares_about_mean;
  moments.min = chunk.min;
  moments.max = chunk.max;
  moments.min_abs = chunk.min_abs;
  return moments;
}

/// In the places of zeros and of what is not finite stands the exponent 0.
void add_exponents(SummaryCounts& into, const ChunkSeen& chunk) {
  for (const auto& table : chunk.exponents) {
    for (std::uint64_t exponent = 0; exponent < 2048; ++exponent) {
      into.rows[cuda::row_of(double_from(exponent << 52))] += table[exponent];
    }
  }
  into.rows[SummaryCounts::below] -= into.rows[SummaryCounts::zero] + into.nans + into.infinities;
}

template <class E>
Summary summarise_as(const Tensor& tensor, double scale, ChunkFunction summarise_chunk) {
  const auto* bits = static_cast<const typename E::Bits*>(tensor.data);
  const Unscaling unscaling(scale);
  const ChunkScale by{unscaling.scale, unscaling.inverse, smallest_normal<E>()};
  const auto chunk = std::make_unique<ChunkSeen>();
  SummaryCounts counts{};
  PerLane<Moments> chains;
  for (std::uint64_t first = 0; first < tensor.count; first += cuda::summary_piece) {
    const std::uint64_t end = std::min(tensor.count, first + cuda::summary_piece);
    Moments piece;
    for (std::uint64_t from = first; from < end; from += chunk_values) {
      const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(end - from, chunk_values));
      alignas(64) double stored[chunk_values];
      for (std::uint32_t i = 0; i < count; ++i) stored[i] = static_cast<double>(cuda::stored_value<E>(bits[from + i]));
      std::fill(stored + count, stored + chunk_values, 0.0);
      summarise_chunk(stored, count, by, *chunk);
      add_counts(counts, *chunk);
      merge(piece, moments_of(*chunk));
    }
    merge(chains.value[first / cuda::summary_piece % warp_lanes], piece);
  }
  merge_chains(chains);
  add_exponents(counts, *chunk);
  Summary summary;
  finish_summary(summary, {nullptr, tensor.count, static_cast<std::int32_t>(tensor.dtype)}, chains.value[0], counts,
                 scale);
  std::copy_n(counts.rows + SummaryCounts::first_bin, ExponentHistogram::bin_count, summary.exponents.bins);
  return summary;
}

}  // namespace

Summary summarise(const Tensor& tensor, double scale, InstructionSet set) {
  const ChunkFunction chunk = pieces_of(set).summarise_chunk;
  switch (tensor.dtype) {
    case Dtype::f32:
      return summarise_as<cuda::Element<Dtype::f32>>(tensor, scale, chunk);
    case Dtype::f64:
      return summarise_as<cuda::Element<Dtype::f64>>(tensor, scale, chunk);
    case Dtype::f16:
      return summarise_as<cuda::Element<Dtype::f16>>(tensor, scale, chunk);
    case Dtype::bf16:
      return summarise_as<cuda::Element<Dtype::bf16>>(tensor, scale, chunk);
    case Dtype::f8_e4m3fn:
      return summarise_as<cuda::Element<Dtype::f8_e4m3fn>>(tensor, scale, chunk);
    case Dtype::f8_e5m2:
      return summarise_as<cuda::Element<Dtype::f8_e5m2>>(tensor, scale, chunk);
  }
  return {};
}

}  // namespace tare::kernels::cpu
