// Matrices quantised, each along its rows and its columns in one pass: a block takes a tile, every lane a patch of it,
// finds the amaxes of its blocks, and writes both sides. Blocks of 128 are the only ones for which warps meet.
#pragma once

#include "kernels/cuda/matrix_greatest.hpp"
#include "kernels/cuda/matrix_lines.hpp"
#include "kernels/cuda/quantise.hpp"

namespace tare::kernels::cuda {

/// What a block's warps tell each other, of blocks of 128.
struct TileShared {
  float row_amax[tile_side][warps_across];
  float column_amax[block_warps / warps_across][tile_side];
  alignas(16) float row_factor[tile_side];
  alignas(16) float column_factor[tile_side];
  float warp_amax[2][block_warps];  ///< of one tile, and of the next
};

/// What the values of a lane's eight rows, or of its eight columns, are multiplied by.
struct Factors8 {
  float of[patch_side];
};

// ---- scales

TARE_HD inline void keep(const Tile& tile, const fp8::Side& side, std::uint64_t at, const fp8::BlockScale& scale) {
  store_scale(tile.how.scaling, side.scales, at, scale.kept);
}

/// Of a row's block that begins at (row, column).
TARE_HD inline void keep_row(const Tile& tile, std::uint64_t row, std::uint64_t column, const fp8::BlockScale& scale) {
  if (row >= tile.matrix.rows || column >= tile.matrix.columns) return;
  keep(tile, tile.matrix.rowwise, rowwise_scale_at(tile.matrix, row, block_at(tile.how.scaling, column)), scale);
}
/// Of a column's.
TARE_HD inline void keep_column(const Tile& tile, std::uint64_t row, std::uint64_t column,
                                const fp8::BlockScale& scale) {
  if (row >= tile.matrix.rows || column >= tile.matrix.columns) return;
  const fp8::Scaling scaling = tile.how.scaling;
  keep(tile, tile.matrix.columnwise, columnwise_scale_at(scaling, tile.matrix, block_at(scaling, row), column), scale);
}

/// Eight scales that all lanes of a block know the amaxes of. Two neighbours, whose numbers differ by `mask`, make four
/// each and show them to each other. `kept(i, turn, which, scale)`: lane i made number `which`, as neighbour `turn`.
template <class E, class GreatestAt, class Kept>
TARE_HD inline void make_factors(const Tile& tile, int mask, const GreatestAt& greatest, PerLane<Factors8>& factors,
                                 const Kept& kept) {
  unrolled<patch_side / 2>([&](int k) {
    PerLane<float> mine;
    PerLane<float> other;
    each_lane([&](int i) {
      const std::uint32_t turn = (lane_at(i) & mask) != 0 ? 1 : 0;
      const fp8::BlockScale scale = block_scale(tile.how, greatest(i).value(k, turn), E::dtype, tile.of_matrix);
      kept(i, static_cast<int>(turn), static_cast<std::uint32_t>(2 * k) + turn, scale);
      mine.value[i] = other.value[i] = scale.factor;
    });
    take_from([&](int i) -> float& { return other.value[i]; }, [&](int lane) { return lane ^ mask; });
    each_lane([&](int i) {
      const bool is_second = (lane_at(i) & mask) != 0;
      factors.value[i].of[2 * k] = is_second ? other.value[i] : mine.value[i];
      factors.value[i].of[2 * k + 1] = is_second ? mine.value[i] : other.value[i];
    });
  });
}

/// Those of rows' blocks that lie within a warp.
template <class E, fp8::Scaling S>
TARE_HD inline void make_row_factors(const Tile& tile, int warp, PerLane<Amaxes<E>>& amaxes,
                                     PerLane<Factors8>& factors) {
  constexpr int sharers = static_cast<int>(fp8::block_length(S)) / patch_side;
  join_greatest<E>(sharers - 1, [&](int i) -> Greatest<E>& { return amaxes.value[i].rows; });
  make_factors<E>(
      tile, 1, [&](int i) -> const Greatest<E>& { return amaxes.value[i].rows; }, factors,
      [&](int i, int turn, std::uint32_t which, const fp8::BlockScale& scale) {
        if (lane_at(i) % sharers != turn) return;
        const Place place = place_of(warp, lane_at(i) - turn);  // where the block begins
        keep_row(tile, tile.row + place.row + which, tile.column + place.column, scale);
      });
}
/// And those of columns'.
template <class E, fp8::Scaling S>
TARE_HD inline void make_column_factors(const Tile& tile, int warp, PerLane<Amaxes<E>>& amaxes,
                                        PerLane<Factors8>& factors) {
  constexpr int sharers = static_cast<int>(fp8::block_length(S)) / patch_side;
  join_greatest<E>((sharers - 1) * lanes_across, [&](int i) -> Greatest<E>& { return amaxes.value[i].columns; });
  make_factors<E>(
      tile, lanes_across, [&](int i) -> const Greatest<E>& { return amaxes.value[i].columns; }, factors,
      [&](int i, int turn, std::uint32_t which, const fp8::BlockScale& scale) {
        if (lane_at(i) / lanes_across % sharers != turn) return;
        const Place place = place_of(warp, lane_at(i) - turn * lanes_across);  // where the block begins
        keep_column(tile, tile.row + place.row, tile.column + place.column + which, scale);
      });
}

// ---- what is written

template <fp8::Format F, class ValueAt>
TARE_HD inline Eight<F> eight_of(const ValueAt& value_at) {
  constexpr int pairs_of_word = 4 / (Eight<F>::bytes / 4);
  Eight<F> eight{};
  unrolled<4>([&](int pair) {
    const std::uint32_t bits = fp8::quantised_pair<F>(value_at(2 * pair), value_at(2 * pair + 1));
    eight.words[pair / pairs_of_word] |= bits << (pair % pairs_of_word * 32 / pairs_of_word);
  });
  return eight;
}

/// A patch in rows, as the values lie.
template <fp8::Format F, class E, class FactorAt>
TARE_HD inline Lines<F> rows_of(const Patch<E>& patch, const FactorAt& factor_at) {
  Lines<F> lines;
  unrolled<patch_side>(
      [&](int r) { lines.of[r] = eight_of<F>([&](int c) { return patch.value(r, c) * factor_at(r, c); }); });
  return lines;
}

/// The rowwise side of a patch, if it is wanted.
template <fp8::Format F, class E>
TARE_HD inline void write_rowwise(const Tile& tile, const Place& place, const Patch<E>& patch,
                                  const Factors8& factors) {
  const fp8::Matrix& matrix = tile.matrix;
  if (matrix.rowwise.data == nullptr) return;
  store_lines(matrix.rowwise.data, matrix.rows, matrix.columns, tile.row + place.row, tile.column + place.column,
              rows_of<F>(patch, [&](int r, int) { return factors.of[r]; }));
}
/// The columnwise one.
template <fp8::Scaling S, fp8::Format F, class E>
TARE_HD inline void write_columnwise(const Tile& tile, const Place& place, const Patch<E>& patch,
                                     const Factors8& factors) {
  const fp8::Matrix& matrix = tile.matrix;
  if (matrix.columnwise.data == nullptr) return;
  if constexpr (fp8::transposes(S)) {
    Lines<F> lines;
    unrolled<patch_side>(
        [&](int c) { lines.of[c] = eight_of<F>([&](int r) { return patch.value(r, c) * factors.of[c]; }); });
    store_lines(matrix.columnwise.data, matrix.columns, matrix.rows, tile.column + place.column, tile.row + place.row,
                lines);
  } else {
    store_lines(matrix.columnwise.data, matrix.rows, matrix.columns, tile.row + place.row, tile.column + place.column,
                rows_of<F>(patch, [&](int, int c) { return factors.of[c]; }));
  }
}

/// Both sides, transposed the columnwise one, of values with one factor.
template <fp8::Format F, class E>
TARE_HD inline void write_both(const Tile& tile, const Place& place, const Patch<E>& patch, float factor) {
  const fp8::Matrix& matrix = tile.matrix;
  const std::uint64_t row = tile.row + place.row;
  const std::uint64_t column = tile.column + place.column;
  Lines<F> lines = rows_of<F>(patch, [&](int, int) { return factor; });
  if (matrix.rowwise.data != nullptr) store_lines(matrix.rowwise.data, matrix.rows, matrix.columns, row, column, lines);
  if (matrix.columnwise.data == nullptr) return;
  turn(lines);
  store_lines(matrix.columnwise.data, matrix.columns, matrix.rows, column, row, lines);
}

}  // namespace tare::kernels::cuda
