// Matrices made values again, from their rows or, where there are none, from their columns: patch by patch, as they
// were quantised.
#pragma once

#include "kernels/cuda/matrix_lines.hpp"
#include "kernels/cuda/matrix_patch.hpp"

namespace tare::kernels::cuda {

/// What the values of a patch are multiplied by: those of row `i`, or of column `i` where there are no rows.
TARE_HD inline float value_scale_at(const Tile& tile, std::uint64_t row, std::uint64_t column, std::uint32_t i) {
  const fp8::Matrix& matrix = tile.matrix;
  const fp8::Scaling scaling = tile.how.scaling;
  const bool has_blocks = fp8::block_length(scaling) != 0;
  const bool is_square = scaling == fp8::Scaling::blockwise_2d;
  const bool by_rows = matrix.rowwise.data != nullptr;
  const std::uint64_t line = (by_rows ? row : column) + i;
  if (line >= (by_rows ? matrix.rows : matrix.columns)) return 0;
  const std::uint64_t its_block = is_square ? block_at(scaling, line) : line;
  std::uint64_t at = 0;
  if (has_blocks && by_rows) at = rowwise_scale_at(matrix, its_block, block_at(scaling, column));
  if (has_blocks && !by_rows) at = columnwise_scale_at(scaling, matrix, block_at(scaling, row), its_block);
  const void* scales = by_rows ? matrix.rowwise.scales : matrix.columnwise.scales;
  const float amax = scaling == fp8::Scaling::nvfp4 ? *matrix.amax : 0;
  return value_scale(scaling, load_scale(scaling, scales, at), amax);
}

/// The bytes of a patch, in rows.
template <fp8::Format F>
TARE_HD inline Lines<fp8::Format::e4m3> load_bytes(const Tile& tile, std::uint64_t row, std::uint64_t column) {
  const fp8::Matrix& matrix = tile.matrix;
  if (matrix.rowwise.data != nullptr)
    return load_lines<F>(matrix.rowwise.data, matrix.rows, matrix.columns, row, column);
  if (!fp8::transposes(tile.how.scaling))
    return load_lines<F>(matrix.columnwise.data, matrix.rows, matrix.columns, row, column);
  Lines<fp8::Format::e4m3> lines = load_lines<F>(matrix.columnwise.data, matrix.columns, matrix.rows, column, row);
  turn(lines);
  return lines;
}

/// How a format's bytes become halves in pairs: bits of f16, whose value is theirs divided by `divisor`.
template <fp8::Format F>
struct Halves {
  static constexpr float divisor = F == fp8::Format::e4m3 ? 0x1p8f : F == fp8::Format::e2m1 ? 0x1p14f : 1.0f;
  /// What is added to a magnitude to reach the eighth bit, if it is no finite number's.
  static constexpr std::uint32_t to_finite = F == fp8::Format::e4m3 ? 0x01010101u : 0x04040404u;

  TARE_HD static bool are_finite(std::uint32_t word) {
    return F == fp8::Format::e2m1 || (((word & 0x7f7f7f7fu) + to_finite) & 0x80808080u) == 0;
  }
  TARE_HD static std::uint32_t pair(std::uint32_t word, int half_of_it) {
    const std::uint32_t apart = upper_bytes(word, half_of_it);
    if constexpr (F == fp8::Format::e4m3) return (apart & 0x80008000u) | (apart & 0x7f007f00u) >> 1;
    if constexpr (F == fp8::Format::e2m1) return (apart & 0x08000800u) << 4 | (apart & 0x07000700u) << 1;
    return apart;
  }
};

/// Whether products of all bytes and factors are those of their halves, and none is NaN.
template <fp8::Format F>
TARE_HD inline bool are_plain(const Lines<fp8::Format::e4m3>& lines, const float* factors) {
  bool plain = true;
  unrolled<patch_side>([&](int i) {
    const float most = FLT_MAX / Halves<F>::divisor;
    plain = plain && factors[i] <= most && factors[i] >= -most && Halves<F>::are_finite(lines.of[i].words[0]) &&
            Halves<F>::are_finite(lines.of[i].words[1]);
  });
  return plain;
}

/// Two values in a word, or one each. REQUIRES: neither is NaN.
template <class E>
TARE_HD inline void put_pair(Patch<E>& patch, int row, int pair, float first, float second) {
  if constexpr (Patch<E>::in_word == 1) {
    patch.words[row][2 * pair] = bits_of(first);
    patch.words[row][2 * pair + 1] = bits_of(second);
  } else {
    patch.words[row][pair] = narrow_pair<E>(first, second);
  }
}

/// `factor_at(row, column)`: one of factors that are_plain.
template <fp8::Format F, class E, class FactorAt>
TARE_HD inline void make_plain(const Lines<fp8::Format::e4m3>& lines, Patch<E>& patch, const FactorAt& factor_at) {
  unrolled<patch_side>([&](int r) {
    unrolled<patch_side / 2>([&](int pair) {
      float first;
      float second;
      widen_pair<Element<Dtype::f16>>(Halves<F>::pair(lines.of[r].words[pair / 2], pair % 2), first, second);
      put_pair(patch, r, pair, first * (factor_at(r, 2 * pair) * Halves<F>::divisor),
               second * (factor_at(r, 2 * pair + 1) * Halves<F>::divisor));
    });
  });
}

/// Value by value.
template <fp8::Format F, class E>
TARE_HD inline void make_any(const Lines<fp8::Format::e4m3>& lines, Patch<E>& patch, const float* factors,
                             bool by_rows) {
  unrolled<patch_side>([&](int r) {
    unrolled<Patch<E>::words_of_row>([&](int w) { patch.words[r][w] = 0; });
    unrolled<patch_side>([&](int c) {
      const auto byte = static_cast<std::uint8_t>(lines.of[r].words[c / 4] >> (c % 4 * 8));
      const std::uint32_t bits = E::bits(fp8::dequantised<F>(byte, by_rows ? factors[r] : factors[c]));
      patch.words[r][c / Patch<E>::in_word] |= bits << (c % Patch<E>::in_word * 16);
    });
  });
}

template <fp8::Format F, class E>
TARE_HD inline void dequantise_patch(const Tile& tile, const Place& place) {
  const std::uint64_t row = tile.row + place.row;
  const std::uint64_t column = tile.column + place.column;
  if (row >= tile.matrix.rows || column >= tile.matrix.columns) return;
  const Lines<fp8::Format::e4m3> lines = load_bytes<F>(tile, row, column);
  const bool by_rows = tile.matrix.rowwise.data != nullptr;
  float factors[patch_side];
  unrolled<patch_side>([&](int i) { factors[i] = value_scale_at(tile, row, column, static_cast<std::uint32_t>(i)); });
  Patch<E> patch;
  if (!are_plain<F>(lines, factors)) {
    make_any<F>(lines, patch, factors, by_rows);
  } else if (by_rows) {
    make_plain<F>(lines, patch, [&](int r, int) { return factors[r]; });
  } else {
    make_plain<F>(lines, patch, [&](int, int c) { return factors[c]; });
  }
  store_patch(tile.matrix, row, column, patch);
}

template <class E>
TARE_HD inline void dequantise_tile(const Tile& tile, const Place& place) {
  switch (tile.how.format) {
    case fp8::Format::e4m3:
      return dequantise_patch<fp8::Format::e4m3, E>(tile, place);
    case fp8::Format::e5m2:
      return dequantise_patch<fp8::Format::e5m2, E>(tile, place);
    case fp8::Format::e2m1:
      return dequantise_patch<fp8::Format::e2m1, E>(tile, place);
  }
}

/// All that one block does.
TARE_HD inline void dequantise_tiles(const MatrixArguments& all, const Block& block) {
  for (std::uint32_t at = block.index; at < all.first_tile[all.count]; at += block.blocks) {
    const Tile tile = tile_at(all, matrix_at(all.first_tile, all.count, at), at);
    block.each_warp_alone([&](int warp) {
      each_lane([&](int i) {
        with_element(tile.matrix.dtype,
                     [&](auto element) { dequantise_tile<decltype(element)>(tile, place_of(warp, lane_at(i))); });
      });
    });
  }
}

}  // namespace tare::kernels::cuda
