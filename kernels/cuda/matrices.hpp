// Matrices in a launch: they travel as the kernel's parameter, so that nothing is uploaded, waited for or kept, and
// blocks find theirs by number. A tile is 128 x 128 values.
#pragma once

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/lane.hpp"
#include "kernels/fp8/matrix.hpp"

namespace tare::kernels::cuda {

inline constexpr std::uint32_t most_matrices = 128;
inline constexpr std::uint32_t tile_side = 128;
/// Values that a block looks at together: few where that lets more blocks look.
inline constexpr std::uint32_t least_chunk = 1u << 12;
inline constexpr std::uint32_t most_chunk = 1u << 15;

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
  std::uint32_t chunk;       ///< values of one
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
/// How many of `most` are left behind `at`.
TARE_HD inline std::uint32_t left_of(std::uint64_t all, std::uint64_t at, std::uint32_t most) {
  return at >= all ? 0 : static_cast<std::uint32_t>(smaller<std::uint64_t>(most, all - at));
}
/// One at least: what is said of an empty matrix is written, too.
TARE_HD inline std::uint64_t chunks_of(const fp8::Matrix& matrix, std::uint32_t chunk) {
  const std::uint64_t chunks = fp8::quotient_up(matrix.rows * matrix.columns, chunk);
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

/// A tile of a matrix.
struct Tile {
  fp8::Quantisation how;
  const fp8::Matrix& matrix;
  std::uint64_t row;     ///< its first
  std::uint64_t column;  ///< its first
  float of_matrix;       ///< the scale of all of it, where there is one
};

/// Tile `at` of a launch, which is the index-th matrix's.
TARE_HD inline Tile tile_at(const MatrixArguments& all, std::uint32_t index, std::uint32_t at) {
  const fp8::Matrix& matrix = all.matrices[index];
  const std::uint64_t number = at - all.first_tile[index];
  return {all.how, matrix, number / tiles_across(matrix) * tile_side, number % tiles_across(matrix) * tile_side, 1.0f};
}

// ---- patches: what each lane takes of a tile
//
// 8 rows of 8 values. A warp's lanes hold 32 rows of 64 values, eight lanes side by side; a block's warps a tile, two
// side by side. So blocks of 16 and of 32 lie within a warp, and what it writes of a row or a column are whole sectors
// of memory.

inline constexpr int patch_side = 8;
inline constexpr int lanes_across = 8;  ///< of a warp
inline constexpr int warps_across = 2;  ///< of a block
inline constexpr std::uint32_t warp_rows = warp_lanes / lanes_across * patch_side;
inline constexpr std::uint32_t warp_columns = lanes_across * patch_side;

/// Where a lane's patch begins in its tile.
struct Place {
  std::uint32_t row;
  std::uint32_t column;
};

TARE_HD inline Place place_of(int warp, int lane) {
  return {static_cast<std::uint32_t>(warp / warps_across) * warp_rows +
              static_cast<std::uint32_t>(lane / lanes_across * patch_side),
          static_cast<std::uint32_t>(warp % warps_across) * warp_columns +
              static_cast<std::uint32_t>(lane % lanes_across * patch_side)};
}

/// A step of all threads of a block, as Block::each_warp.
template <class Step>
TARE_HD inline void each_thread(const Block& block, const Step& step) {
  block.each_warp(
      [&](int warp) { each_lane([&](int i) { step(static_cast<std::uint32_t>(warp * warp_lanes + lane_at(i))); }); });
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
