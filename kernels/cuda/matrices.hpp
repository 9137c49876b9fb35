// Matrices in a launch: they travel as the kernel's parameter, so that nothing is uploaded, waited for or kept, and
// blocks find theirs by number. A tile is 128 x 128 values, taken in strips of 32 rows.
#pragma once

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/lane.hpp"
#include "kernels/fp8/matrix.hpp"

namespace tare::kernels::cuda {

inline constexpr std::uint32_t most_matrices = 128;
inline constexpr std::uint32_t tile_side = 128;
inline constexpr std::uint32_t strip_rows = 32;
inline constexpr std::uint32_t chunk_values = 1u << 15;  ///< that a block looks at together

/// What is known of a matrix between its blocks, and from one launch to the next: amax and ticket are 0 between calls.
struct MatrixProgress {
  std::uint32_t amax;  ///< bits
  std::uint32_t ticket;
  float scale;
  std::uint32_t unused;
};

struct MatrixArguments {
  fp8::Quantisation how;
  std::uint32_t count;
  MatrixProgress* progress;  ///< one a matrix
  std::uint32_t first_chunk[most_matrices + 1];
  std::uint32_t first_tile[most_matrices + 1];
  fp8::Matrix matrices[most_matrices];  ///< with strides
};

TARE_HD inline std::uint64_t tiles_across(const fp8::Matrix& matrix) {
  return fp8::quotient_up(matrix.columns, tile_side);
}
TARE_HD inline std::uint64_t tiles_of(const fp8::Matrix& matrix) {
  return tiles_across(matrix) * fp8::quotient_up(matrix.rows, tile_side);
}
/// The number of the block that a row or a column lies in.
TARE_HD inline std::uint64_t block_at(fp8::Scaling scaling, std::uint64_t at) {
  constexpr std::uint64_t shift = 7;
  static_assert(fp8::mx_block == 1 << 5 && fp8::nvfp4_block == 1 << 4 && fp8::blockwise_block == 1 << shift);
  return at >> (scaling == fp8::Scaling::mxfp8 ? 5 : scaling == fp8::Scaling::nvfp4 ? 4 : shift);
}
/// One at least: what is said of an empty matrix is written, too.
TARE_HD inline std::uint64_t chunks_of(const fp8::Matrix& matrix) {
  const std::uint64_t chunks = fp8::quotient_up(matrix.rows * matrix.columns, chunk_values);
  return chunks == 0 ? 1 : chunks;
}

/// The last that begins at `index` or before it.
TARE_HD inline std::uint32_t matrix_at(const std::uint32_t* first, std::uint32_t count, std::uint32_t index) {
  std::uint32_t low = 0;
  std::uint32_t high = count;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (first[middle] <= index ? low : high) = middle;
  }
  return low;
}

/// A step of all threads of a block, as Block::each_warp.
template <class Step>
TARE_HD inline void each_thread(const Block& block, const Step& step) {
  block.each_warp(
      [&](int warp) { each_lane([&](int i) { step(static_cast<std::uint32_t>(warp * warp_lanes + lane_at(i))); }); });
}

// ---- values of rows, four at a time

struct Four {
  float value[4];
};

template <class E>
TARE_HD inline Four load_four(const unsigned char* at, std::uint32_t count) {
  using Bits = typename E::Bits;
  alignas(16) Bits bits[4] = {};
  if (count >= 4 && reinterpret_cast<std::uintptr_t>(at) % sizeof bits == 0) {
    memcpy(bits, __builtin_assume_aligned(at, sizeof bits), sizeof bits);
  } else {
    unrolled<4>([&](int j) {
      if (static_cast<std::uint32_t>(j) >= count) return;
      Bits one;
      memcpy(&one, __builtin_assume_aligned(at + static_cast<std::size_t>(j) * sizeof one, sizeof one), sizeof one);
      bits[j] = one;
    });
  }
  return {{E::value(bits[0]), E::value(bits[1]), E::value(bits[2]), E::value(bits[3])}};
}

template <class E>
TARE_HD inline void store_four(unsigned char* at, std::uint32_t count, const Four& four) {
  using Bits = typename E::Bits;
  alignas(16) const Bits bits[4] = {E::bits(four.value[0]), E::bits(four.value[1]), E::bits(four.value[2]),
                                    E::bits(four.value[3])};
  if (count >= 4 && reinterpret_cast<std::uintptr_t>(at) % sizeof bits == 0) {
    memcpy(__builtin_assume_aligned(at, sizeof bits), bits, sizeof bits);
  } else {
    unrolled<4>([&](int j) {
      if (static_cast<std::uint32_t>(j) >= count) return;
      const Bits one = bits[j];
      memcpy(__builtin_assume_aligned(at + static_cast<std::size_t>(j) * sizeof one, sizeof one), &one, sizeof one);
    });
  }
}

/// Does `with` with the Element of a matrix's values.
template <class With>
TARE_HD inline void with_element(Dtype dtype, const With& with) {
  switch (dtype) {
    case Dtype::f32:
      return with(Element<Dtype::f32>());
    case Dtype::f16:
      return with(Element<Dtype::f16>());
    case Dtype::bf16:
      return with(Element<Dtype::bf16>());
    default:
      return;
  }
}

}  // namespace tare::kernels::cuda
