// Matrices quantised, each along its rows and its columns in one pass: a block takes a tile, a strip of it at a time
// into shared memory, finds the amaxes of its blocks there, and writes both sides. Tiles whose blocks are higher than a
// strip are looked at before; the second look finds them in the cache.
#pragma once

#include "kernels/cuda/matrices.hpp"
#include "kernels/cuda/quantise.hpp"

namespace tare::kernels::cuda {

inline constexpr std::uint32_t parts = 8;  ///< of a strip's row: of 16 values each
inline constexpr std::uint32_t part_values = 16;
inline constexpr std::uint32_t halves = strip_rows / part_values;  ///< of a strip's column

struct TileShared {
  float values[strip_rows][tile_side + 1];
  std::uint32_t row_amax[strip_rows][parts];
  std::uint32_t column_amax[halves][tile_side];
  std::uint32_t tile_column_amax[tile_side];
  std::uint32_t strip_amax;
  std::uint32_t tile_amax;
  float row_factor[strip_rows][parts];
  float column_factor[halves][tile_side];
};

/// A tile that is being quantised.
struct Tile {
  const fp8::Quantisation& how;
  const fp8::Matrix& matrix;
  std::uint64_t row;     ///< its first
  std::uint64_t column;  ///< its first
  float of_matrix;       ///< the scale of all of it, where there is one
};

/// How many of `most` are left behind `at`.
TARE_HD inline std::uint32_t left_of(std::uint64_t all, std::uint64_t at, std::uint32_t most) {
  return at >= all ? 0 : static_cast<std::uint32_t>(smaller<std::uint64_t>(most, all - at));
}

/// Values of a strip that begins in `row`; zeros where the matrix has none.
TARE_HD inline void load_strip(const Tile& tile, const Block& block, TileShared& shared, std::uint64_t row) {
  const fp8::Matrix& matrix = tile.matrix;
  each_thread(block, [&](std::uint32_t thread) {
    const std::uint32_t at = thread % warp_lanes * 4;
    const std::uint32_t count = left_of(matrix.columns, tile.column + at, 4);
    with_element(matrix.dtype, [&](auto element) {
      using E = decltype(element);
      const auto* from = static_cast<const unsigned char*>(matrix.values) +
                         (row * matrix.columns + tile.column + at) * sizeof(typename E::Bits);
      Four loaded[strip_rows / block_warps];
      unrolled<strip_rows / block_warps>([&](int i) {
        const std::uint64_t r = thread / warp_lanes + static_cast<std::uint32_t>(i) * block_warps;
        loaded[i] =
            load_four<E>(from + r * matrix.columns * sizeof(typename E::Bits), row + r < matrix.rows ? count : 0);
      });
      unrolled<strip_rows / block_warps>([&](int i) {
        const std::uint32_t r = thread / warp_lanes + static_cast<std::uint32_t>(i) * block_warps;
        unrolled<4>([&](int j) { shared.values[r][at + static_cast<std::uint32_t>(j)] = loaded[i].value[j]; });
      });
    });
  });
}

/// Of each 16 values of the strip's rows, and of its columns.
TARE_HD inline void find_amaxes(const Block& block, TileShared& shared) {
  each_thread(block, [&](std::uint32_t thread) {
    const std::uint32_t row = thread / parts;
    const std::uint32_t part = thread % parts;
    std::uint32_t amax = 0;
    for (std::uint32_t i = 0; i < part_values; ++i) {
      const std::uint32_t column = part * part_values + (i + thread) % part_values;  // threads part in banks
      amax = larger(amax, fp8::amax_bits(shared.values[row][column]));
    }
    shared.row_amax[row][part] = amax;
    const std::uint32_t column = thread % tile_side;
    const std::uint32_t half = thread / tile_side;
    amax = 0;
    for (std::uint32_t i = 0; i < part_values; ++i) {
      amax = larger(amax, fp8::amax_bits(shared.values[half * part_values + i][column]));
    }
    shared.column_amax[half][column] = amax;
  });
}

/// The greatest of a strip, in strip_amax.
TARE_HD inline void find_strip_amax(const Block& block, TileShared& shared) {
  block.each_warp([&](int warp) {
    if (warp != 0) return;
    PerLane<std::uint32_t> max;
    each_lane([&](int i) {
      max.value[i] = 0;
      for (std::uint32_t part = 0; part < parts; ++part) {
        max.value[i] = larger(max.value[i], shared.row_amax[lane_at(i)][part]);
      }
    });
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
      combine_across(
          mask, [&](int i) -> std::uint32_t& { return max.value[i]; },
          [](std::uint32_t a, std::uint32_t b) { return larger(a, b); });
    }
    each_lane([&](int i) {
      if (lane_at(i) == 0) shared.strip_amax = max.value[i];
    });
  });
}

// ---- factors, and the scales that are kept

TARE_HD inline void keep(const Tile& tile, const fp8::Side& side, std::uint64_t at, const fp8::BlockScale& scale) {
  if (side.data != nullptr) store_scale(tile.how.scaling, side.scales, at, scale.kept);
}

/// Of a strip's rows.
TARE_HD inline void make_row_factors(const Tile& tile, const Block& block, TileShared& shared,
                                     std::uint64_t first_row) {
  each_thread(block, [&](std::uint32_t thread) {
    const std::uint32_t length = fp8::block_length(tile.how.scaling) / part_values;
    const std::uint32_t row = thread / parts;
    const std::uint32_t part = thread % parts;
    const std::uint32_t first = part - part % length;
    std::uint32_t amax = 0;
    for (std::uint32_t i = 0; i < length; ++i) amax = larger(amax, shared.row_amax[row][first + i]);
    const fp8::BlockScale scale = block_scale(tile.how, float_from(amax), tile.matrix.dtype, tile.of_matrix);
    shared.row_factor[row][part] = scale.factor;
    const std::uint64_t column = tile.column + part * part_values;
    if (part != first || first_row + row >= tile.matrix.rows || column >= tile.matrix.columns) return;
    keep(tile, tile.matrix.rowwise, rowwise_scale_at(tile.matrix, first_row + row, block_at(tile.how.scaling, column)),
         scale);
  });
}

/// A column's block, from row `row` on.
TARE_HD inline void make_column_factor(const Tile& tile, TileShared& shared, std::uint32_t half, std::uint32_t column,
                                       std::uint32_t amax, std::uint64_t row) {
  const fp8::BlockScale scale = block_scale(tile.how, float_from(amax), tile.matrix.dtype, tile.of_matrix);
  shared.column_factor[half][column] = scale.factor;
  if (row >= tile.matrix.rows || tile.column + column >= tile.matrix.columns) return;
  const std::uint64_t i = block_at(tile.how.scaling, row);
  keep(tile, tile.matrix.columnwise, columnwise_scale_at(tile.how.scaling, tile.matrix, i, tile.column + column),
       scale);
}

/// Of a strip's columns, whose blocks are as high as a strip or half of it.
TARE_HD inline void make_column_factors(const Tile& tile, const Block& block, TileShared& shared,
                                        std::uint64_t first_row) {
  each_thread(block, [&](std::uint32_t thread) {
    const std::uint32_t column = thread % tile_side;
    const std::uint32_t half = thread / tile_side;
    if (fp8::block_length(tile.how.scaling) == part_values) {
      make_column_factor(tile, shared, half, column, shared.column_amax[half][column], first_row + half * part_values);
    } else {
      const std::uint32_t amax = larger(shared.column_amax[0][column], shared.column_amax[1][column]);
      make_column_factor(tile, shared, half, column, amax, half == 0 ? first_row : tile.matrix.rows);
    }
  });
}

/// Of blocks as high as a tile, from all of its strips.
TARE_HD inline void look_at_tile(const Tile& tile, const Block& block, TileShared& shared) {
  for (std::uint64_t row = tile.row; row < smaller(tile.row + tile_side, tile.matrix.rows); row += strip_rows) {
    load_strip(tile, block, shared, row);
    find_amaxes(block, shared);
    find_strip_amax(block, shared);
    each_thread(block, [&](std::uint32_t thread) {
      const bool is_first = row == tile.row;
      if (thread < tile_side) {
        const std::uint32_t both = larger(shared.column_amax[0][thread], shared.column_amax[1][thread]);
        shared.tile_column_amax[thread] = is_first ? both : larger(shared.tile_column_amax[thread], both);
      }
      if (thread == 0) shared.tile_amax = is_first ? shared.strip_amax : larger(shared.tile_amax, shared.strip_amax);
    });
  }
  each_thread(block, [&](std::uint32_t thread) {
    const std::uint32_t column = thread % tile_side;
    const std::uint32_t half = thread / tile_side;
    if (tile.how.scaling == fp8::Scaling::blockwise_1d) {
      make_column_factor(tile, shared, half, column, shared.tile_column_amax[column],
                         half == 0 ? tile.row : tile.matrix.rows);
    } else if (thread == 0) {
      const fp8::BlockScale scale =
          block_scale(tile.how, float_from(shared.tile_amax), tile.matrix.dtype, tile.of_matrix);
      const std::uint64_t i = tile.row / tile_side;
      const std::uint64_t j = tile.column / tile_side;
      keep(tile, tile.matrix.rowwise, rowwise_scale_at(tile.matrix, i, j), scale);
      keep(tile, tile.matrix.columnwise, columnwise_scale_at(tile.how.scaling, tile.matrix, i, j), scale);
    }
  });
}

// ---- what is written

template <fp8::Format F>
TARE_HD inline std::uint8_t byte_of(float value, float factor) {
  return fp8::quantised<F>(value * factor);
}

/// Four values of a row, one after the other.
template <fp8::Format F, class FactorOf>
TARE_HD inline void write_four(std::uint8_t* side, std::uint64_t at, std::uint32_t count, const float* values,
                               const FactorOf& factor_of) {
  std::uint8_t bytes[4];
  unrolled<4>([&](int j) { bytes[j] = byte_of<F>(values[j], factor_of(j)); });
  if constexpr (F == fp8::Format::e2m1) {
    unrolled<2>([&](int i) {
      const auto pair = static_cast<std::uint32_t>(i);
      if (2 * pair + 1 < count) side[at / 2 + pair] = static_cast<std::uint8_t>(bytes[2 * i] | bytes[2 * i + 1] << 4);
    });
  } else if (count == 4 && reinterpret_cast<std::uintptr_t>(side + at) % 4 == 0) {
    memcpy(__builtin_assume_aligned(side + at, 4), bytes, 4);
  } else {
    unrolled<4>([&](int j) {
      const auto place = static_cast<std::uint32_t>(j);
      if (place < count) side[at + place] = bytes[j];
    });
  }
}

/// A strip in rows, as the values lie.
template <fp8::Format F, class FactorOf>
TARE_HD inline void write_rows(const Tile& tile, const Block& block, const TileShared& shared, std::uint64_t first_row,
                               void* side, const FactorOf& factor_of) {
  each_thread(block, [&](std::uint32_t thread) {
    const std::uint32_t column = thread % warp_lanes * 4;
    const std::uint32_t count = left_of(tile.matrix.columns, tile.column + column, 4);
    for (std::uint32_t row = thread / warp_lanes; row < left_of(tile.matrix.rows, first_row, strip_rows);
         row += block_warps) {
      write_four<F>(static_cast<std::uint8_t*>(side), (first_row + row) * tile.matrix.columns + tile.column + column,
                    count, shared.values[row] + column,
                    [&](int j) { return factor_of(row, column + static_cast<std::uint32_t>(j)); });
    }
  });
}

/// A strip transposed: each warp writes what lies side by side of a column.
template <fp8::Format F, class FactorOf>
TARE_HD inline void write_turned(const Tile& tile, const Block& block, const TileShared& shared,
                                 std::uint64_t first_row, const FactorOf& factor_of) {
  const fp8::Matrix& matrix = tile.matrix;
  auto* side = static_cast<std::uint8_t*>(matrix.columnwise.data);
  const std::uint32_t rows = left_of(matrix.rows, first_row, strip_rows);
  each_thread(block, [&](std::uint32_t thread) {
    const std::uint32_t lane = thread % warp_lanes;
    for (std::uint32_t column = thread / warp_lanes; column < left_of(matrix.columns, tile.column, tile_side);
         column += block_warps) {
      const std::uint64_t at = (tile.column + column) * matrix.rows + first_row;
      const auto byte = [&](std::uint32_t row) {
        return byte_of<F>(shared.values[row][column], factor_of(row, column));
      };
      if constexpr (F == fp8::Format::e2m1) {
        if (2 * lane < rows) side[at / 2 + lane] = static_cast<std::uint8_t>(byte(2 * lane) | byte(2 * lane + 1) << 4);
      } else {
        if (lane < rows) side[at + lane] = byte(lane);
      }
    }
  });
}

/// Both sides of a strip.
template <fp8::Format F>
TARE_HD inline void write_strip(const Tile& tile, const Block& block, const TileShared& shared, std::uint64_t first_row,
                                float of_tile) {
  const bool has_blocks = fp8::block_length(tile.how.scaling) != 0 && tile.how.scaling != fp8::Scaling::blockwise_2d;
  const auto row_factor = [&](std::uint32_t row, std::uint32_t column) {
    return has_blocks ? shared.row_factor[row][column / part_values] : of_tile;
  };
  const auto column_factor = [&](std::uint32_t row, std::uint32_t column) {
    return has_blocks ? shared.column_factor[row / part_values][column] : of_tile;
  };
  if (tile.matrix.rowwise.data != nullptr) {
    write_rows<F>(tile, block, shared, first_row, tile.matrix.rowwise.data, row_factor);
  }
  if (tile.matrix.columnwise.data == nullptr) return;
  if (fp8::transposes(tile.how.scaling)) {
    write_turned<F>(tile, block, shared, first_row, column_factor);
  } else {
    write_rows<F>(tile, block, shared, first_row, tile.matrix.columnwise.data, column_factor);
  }
}

template <fp8::Format F>
TARE_HD inline void quantise_tile(const Tile& tile, const Block& block, TileShared& shared) {
  using fp8::Scaling;
  const Scaling scaling = tile.how.scaling;
  const bool is_high = scaling == Scaling::blockwise_1d || scaling == Scaling::blockwise_2d;
  const bool notes = scaling == Scaling::delayed && tile.matrix.amax != nullptr;
  const bool has_row_blocks = fp8::block_length(scaling) != 0 && scaling != Scaling::blockwise_2d;
  float of_tile = tile.of_matrix;
  if (is_high) look_at_tile(tile, block, shared);
  if (scaling == Scaling::blockwise_2d) {
    of_tile = block_scale(tile.how, float_from(shared.tile_amax), tile.matrix.dtype, of_tile).factor;
  }
  for (std::uint64_t row = tile.row; row < smaller(tile.row + tile_side, tile.matrix.rows); row += strip_rows) {
    load_strip(tile, block, shared, row);
    if (has_row_blocks || notes) find_amaxes(block, shared);
    if (notes) {
      find_strip_amax(block, shared);
      block.in_one_thread([&] { raise_amax(reinterpret_cast<std::uint32_t*>(tile.matrix.amax), shared.strip_amax); });
    }
    if (has_row_blocks) make_row_factors(tile, block, shared, row);
    if (has_row_blocks && !is_high) make_column_factors(tile, block, shared, row);
    write_strip<F>(tile, block, shared, row, of_tile);
  }
}

/// What is kept of a matrix with one scale, by one thread for each.
TARE_HD inline void keep_inverse(const MatrixArguments& all, std::uint32_t index, float of_matrix) {
  const fp8::Matrix& matrix = all.matrices[index];
  const std::uint32_t kept = bits_of(1.0f / of_matrix);
  if (matrix.rowwise.scales != nullptr) store_scale(all.how.scaling, matrix.rowwise.scales, 0, kept);
  if (matrix.columnwise.scales != nullptr) store_scale(all.how.scaling, matrix.columnwise.scales, 0, kept);
}

TARE_HD inline float scale_of_matrix(const MatrixArguments& all, std::uint32_t index) {
  if (fp8::looks_first(all.how.scaling)) return all.progress[index].scale;
  return all.how.scaling == fp8::Scaling::delayed ? *all.matrices[index].scale : 1.0f;
}

/// All that one block does.
TARE_HD inline void quantise_tiles(const MatrixArguments& all, const Block& block, TileShared& shared) {
  if (fp8::block_length(all.how.scaling) == 0) {
    block.in_one_thread([&] {
      for (std::uint32_t i = block.index; i < all.count; i += block.blocks) {
        keep_inverse(all, i, scale_of_matrix(all, i));
      }
    });
  }
  for (std::uint32_t at = block.index; at < all.first_tile[all.count]; at += block.blocks) {
    const std::uint32_t index = matrix_at(all.first_tile, all.count, at);
    const fp8::Matrix& matrix = all.matrices[index];
    const std::uint64_t number = at - all.first_tile[index];
    const Tile tile = {all.how, matrix, number / tiles_across(matrix) * tile_side,
                       number % tiles_across(matrix) * tile_side, scale_of_matrix(all, index)};
    switch (all.how.format) {
      case fp8::Format::e4m3:
        quantise_tile<fp8::Format::e4m3>(tile, block, shared);
        break;
      case fp8::Format::e5m2:
        quantise_tile<fp8::Format::e5m2>(tile, block, shared);
        break;
      case fp8::Format::e2m1:
        quantise_tile<fp8::Format::e2m1>(tile, block, shared);
        break;
    }
  }
}

}  // namespace tare::kernels::cuda
