// Matrices made values again, from their rows or, where there are none, from their columns: tile by tile, as they were
// quantised, so that what is transposed is read and written side by side.
#pragma once

#include "kernels/cuda/matrix_quantise.hpp"

namespace tare::kernels::cuda {

struct ValuesShared {
  float values[strip_rows][tile_side + 1];
};

/// What the value at (row, column) is multiplied by.
TARE_HD inline float value_scale_at(const Tile& tile, std::uint64_t row, std::uint64_t column) {
  const fp8::Matrix& matrix = tile.matrix;
  const fp8::Scaling scaling = tile.how.scaling;
  const bool has_blocks = fp8::block_length(scaling) != 0;
  const bool is_square = scaling == fp8::Scaling::blockwise_2d;
  const bool by_rows = matrix.rowwise.data != nullptr;
  std::uint64_t at = 0;
  if (has_blocks && by_rows) {
    at = rowwise_scale_at(matrix, is_square ? block_at(scaling, row) : row, block_at(scaling, column));
  }
  if (has_blocks && !by_rows) {
    at = columnwise_scale_at(scaling, matrix, block_at(scaling, row), is_square ? block_at(scaling, column) : column);
  }
  const void* scales = by_rows ? matrix.rowwise.scales : matrix.columnwise.scales;
  const float amax = scaling == fp8::Scaling::nvfp4 ? *matrix.amax : 0;
  return value_scale(scaling, load_scale(scaling, scales, at), amax);
}

/// The byte, or half of one, of a value of a side.
TARE_HD inline std::uint8_t bits_at(fp8::Format format, const void* side, std::uint64_t at) {
  const auto* bytes = static_cast<const std::uint8_t*>(side);
  if (format != fp8::Format::e2m1) return bytes[at];
  return static_cast<std::uint8_t>(bytes[at / 2] >> (at % 2 * 4) & 0xf);
}

TARE_HD inline void read_strip(const Tile& tile, const Block& block, ValuesShared& shared, std::uint64_t first_row) {
  const fp8::Matrix& matrix = tile.matrix;
  const std::uint32_t rows = left_of(matrix.rows, first_row, strip_rows);
  const std::uint32_t columns = left_of(matrix.columns, tile.column, tile_side);
  const bool is_turned = matrix.rowwise.data == nullptr && fp8::transposes(tile.how.scaling);
  const void* side = matrix.rowwise.data != nullptr ? matrix.rowwise.data : matrix.columnwise.data;
  each_thread(block, [&](std::uint32_t thread) {
    for (std::uint32_t i = thread; i < strip_rows * tile_side; i += threads) {
      const std::uint32_t r = is_turned ? i % strip_rows : i / tile_side;
      const std::uint32_t c = is_turned ? i / strip_rows : i % tile_side;
      if (r >= rows || c >= columns) continue;
      const std::uint64_t row = first_row + r;
      const std::uint64_t column = tile.column + c;
      const std::uint64_t at = is_turned ? column * matrix.rows + row : row * matrix.columns + column;
      const std::uint8_t bits = bits_at(tile.how.format, side, at);
      shared.values[r][c] = dequantised(tile.how.format, bits, value_scale_at(tile, row, column));
    }
  });
}

TARE_HD inline void store_strip(const Tile& tile, const Block& block, const ValuesShared& shared,
                                std::uint64_t first_row) {
  const fp8::Matrix& matrix = tile.matrix;
  each_thread(block, [&](std::uint32_t thread) {
    const std::uint32_t column = thread % warp_lanes * 4;
    const std::uint32_t count = left_of(matrix.columns, tile.column + column, 4);
    with_element(matrix.dtype, [&](auto element) {
      using E = decltype(element);
      for (std::uint32_t row = thread / warp_lanes; row < left_of(matrix.rows, first_row, strip_rows);
           row += block_warps) {
        Four four;
        unrolled<4>([&](int j) {
          const auto at = column + static_cast<std::uint32_t>(j);
          four.value[j] = static_cast<std::uint32_t>(j) < count ? shared.values[row][at] : 0.0f;
        });
        const std::uint64_t at = (first_row + row) * matrix.columns + tile.column + column;
        store_four<E>(static_cast<unsigned char*>(matrix.values) + at * sizeof(typename E::Bits), count, four);
      }
    });
  });
}

/// All that one block does.
TARE_HD inline void dequantise_tiles(const MatrixArguments& all, const Block& block, ValuesShared& shared) {
  for (std::uint32_t at = block.index; at < all.first_tile[all.count]; at += block.blocks) {
    const std::uint32_t index = matrix_at(all.first_tile, all.count, at);
    const fp8::Matrix& matrix = all.matrices[index];
    const std::uint64_t number = at - all.first_tile[index];
    const Tile tile = {all.how, matrix, number / tiles_across(matrix) * tile_side,
                       number % tiles_across(matrix) * tile_side, 1.0f};
    for (std::uint64_t row = tile.row; row < smaller(tile.row + tile_side, matrix.rows); row += strip_rows) {
      read_strip(tile, block, shared, row);
      store_strip(tile, block, shared, row);
    }
  }
}

}  // namespace tare::kernels::cuda
