// The greatest magnitude of whole matrices, and the scale that comes of it: one launch for all, in which the block that
// finishes a matrix last makes its scale.
#pragma once

#include "kernels/cuda/matrices.hpp"
#include "kernels/cuda/quantise.hpp"

namespace tare::kernels::cuda {

struct AmaxShared {
  std::uint32_t greatest[block_warps];
  std::uint32_t ticket;
};

/// What a lane sees: the greatest magnitude that is no NaN, in the dtype's own bits.
template <class E>
class AmaxSeeker {
  using Bits = typename E::Bits;

 public:
  static constexpr int loads_in_flight = 8;

  TARE_HD void full(const Vector& vector, std::uint32_t) {
    if constexpr (sizeof(Bits) == 2) {
      const std::uint32_t pair = Pairs<E>(vector).greatest();
      const auto greatest = static_cast<Bits>(larger(lower_half(pair), upper_half(pair)));
      if (greatest <= infinite) {
        max = larger(max, greatest);
        return;
      }
    }
    unrolled<Layout<E>::per_vector>([&](int j) { take(element_of<Bits>(vector, j)); });
  }
  TARE_HD void one(Bits bits, int, std::uint32_t) { take(bits); }

  Bits max = 0;

 private:
  static constexpr Bits infinite = E::dtype == Dtype::f32    ? Bits(0x7f800000u)
                                   : E::dtype == Dtype::bf16 ? Bits(0x7f80u)
                                                             : Bits(0x7c00u);

  TARE_HD void take(Bits bits) {
    const Bits magnitude = bits & E::magnitude;
    max = larger<Bits>(max, magnitude > infinite ? Bits(0) : magnitude);
  }
};

/// A warp's part of the chunk of `size` values that begins at `from_value`.
template <class E>
TARE_HD inline std::uint32_t amax_of_chunk(const fp8::Matrix& matrix, std::uint64_t from_value, std::uint32_t size,
                                           int warp) {
  const std::uint64_t share = size / block_warps;
  const std::uint64_t values = matrix.rows * matrix.columns;
  const std::uint64_t begin = from_value + static_cast<std::uint64_t>(warp) * share;
  if (begin >= values) return 0;
  const auto* from = static_cast<const unsigned char*>(matrix.values) + begin * sizeof(typename E::Bits);
  const Stretch stretch = {from, nullptr, static_cast<std::uint32_t>(smaller(share, values - begin))};
  PerLane<std::uint32_t> max;
  each_lane([&](int i) {
    AmaxSeeker<E> seeker;
    visit_lane<E, warp_lanes>(stretch, lane_at(i), seeker);
    max.value[i] = bits_of(E::value(seeker.max));
  });
  for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return max.value[i]; },
        [](std::uint32_t a, std::uint32_t b) { return larger(a, b); });
  }
  return max.value[0];
}

/// Makes a matrix's scale, once all of it was seen, and leaves its progress as it was.
TARE_HD inline void finish_amax(const MatrixArguments& all, std::uint32_t index) {
  const fp8::Matrix& matrix = all.matrices[index];
  MatrixProgress& progress = all.progress[index];
  const float amax = float_from(load_shared_global(&progress.amax));
  const float scale = matrix_scale(all.how, amax);
  progress.amax = 0;
  progress.ticket = 0;
  progress.scale = scale;
  if (matrix.amax != nullptr) *matrix.amax = amax;
  if (matrix.scale != nullptr) *matrix.scale = scale;
}

/// All that one block does.
TARE_HD inline void amax_block(const MatrixArguments& all, const Block& block, AmaxShared& shared) {
  for (std::uint32_t at = block.index; at < all.first_chunk[all.count]; at += block.blocks) {
    const std::uint32_t index = matrix_at(all.first_chunk, all.count, at);
    const fp8::Matrix& matrix = all.matrices[index];
    const std::uint32_t first = all.first_chunk[index];
    block.each_warp([&](int warp) {
      std::uint32_t greatest = 0;
      with_element(matrix.dtype, [&](auto element) {
        greatest = amax_of_chunk<decltype(element)>(matrix, std::uint64_t{at - first} * all.chunk, all.chunk, warp);
      });
      each_lane([&](int i) {
        if (lane_at(i) == 0) shared.greatest[warp] = greatest;
      });
    });
    block.in_one_thread([&] {
      std::uint32_t greatest = 0;
      for (int warp = 0; warp < block_warps; ++warp) greatest = larger(greatest, shared.greatest[warp]);
      raise_amax(&all.progress[index].amax, greatest);
    });
    const Block of_matrix{at - first, all.first_chunk[index + 1] - first};
    if (of_matrix.is_last(&all.progress[index].ticket, shared.ticket)) {
      block.in_one_thread([&] { finish_amax(all, index); });
    }
  }
}

}  // namespace tare::kernels::cuda
