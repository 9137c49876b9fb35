// A block's way through the tiles of matrices that are quantised, for each scaling.
#pragma once

#include "kernels/cuda/matrix_quantise.hpp"

namespace tare::kernels::cuda {

/// The greatest of a warp's values.
template <class E>
TARE_HD inline float amax_of_warp(const PerLane<Amaxes<E>>& amaxes) {
  PerLane<float> greatest;
  each_lane([&](int i) { greatest.value[i] = amaxes.value[i].rows.of_all(); });
  for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
    combine_across(
        mask, [&](int i) -> float& { return greatest.value[i]; }, [](float a, float b) { return larger(a, b); });
  }
  return greatest.value[0];
}

/// Of all patches of a warp.
template <class E>
TARE_HD inline void load_patches(const Tile& tile, int warp, PerLane<Patch<E>>& patches) {
  each_lane([&](int i) {
    const Place place = place_of(warp, lane_at(i));
    patches.value[i] = load_patch<E>(tile.matrix, tile.row + place.row, tile.column + place.column);
  });
}
template <class E>
TARE_HD inline void find_amaxes(const PerLane<Patch<E>>& patches, PerLane<Amaxes<E>>& amaxes) {
  each_lane([&](int i) { amaxes.value[i] = amaxes_of(patches.value[i]); });
}

/// A tile of a matrix with one scale.
template <fp8::Scaling S, fp8::Format F, class E>
TARE_HD inline void quantise_whole(const Tile& tile, const Block& block) {
  block.each_warp_alone([&](int warp) {
    PerLane<Patch<E>> patches;
    load_patches(tile, warp, patches);
    if (S == fp8::Scaling::delayed && tile.matrix.amax != nullptr) {
      PerLane<Amaxes<E>> amaxes;
      find_amaxes(patches, amaxes);
      const float greatest = amax_of_warp(amaxes);
      each_lane([&](int i) {
        if (lane_at(i) == 0) raise_amax(reinterpret_cast<std::uint32_t*>(tile.matrix.amax), bits_of(greatest));
      });
    }
    each_lane([&](int i) { write_both<F>(tile, place_of(warp, lane_at(i)), patches.value[i], tile.of_matrix); });
  });
}

/// A tile whose blocks lie within warps.
template <fp8::Scaling S, fp8::Format F, class E>
TARE_HD inline void quantise_small_blocks(const Tile& tile, const Block& block) {
  block.each_warp_alone([&](int warp) {
    PerLane<Patch<E>> patches;
    PerLane<Amaxes<E>> amaxes;
    PerLane<Factors8> factors;
    load_patches(tile, warp, patches);
    find_amaxes(patches, amaxes);
    if (tile.matrix.rowwise.data != nullptr) {
      make_row_factors<E, S>(tile, warp, amaxes, factors);
      each_lane([&](int i) { write_rowwise<F>(tile, place_of(warp, lane_at(i)), patches.value[i], factors.value[i]); });
    }
    if (tile.matrix.columnwise.data != nullptr) {
      make_column_factors<E, S>(tile, warp, amaxes, factors);
      each_lane(
          [&](int i) { write_columnwise<S, F>(tile, place_of(warp, lane_at(i)), patches.value[i], factors.value[i]); });
    }
  });
}

/// Shows a block's warps the amaxes of each warp's rows and columns.
template <class E>
TARE_HD inline void leave_amaxes(int warp, PerLane<Amaxes<E>>& amaxes, TileShared& shared) {
  constexpr int of_row = lanes_across - 1;
  join_greatest<E>(of_row, [&](int i) -> Greatest<E>& { return amaxes.value[i].rows; });
  join_greatest<E>(warp_lanes - 1 - of_row, [&](int i) -> Greatest<E>& { return amaxes.value[i].columns; });
  each_lane([&](int i) {
    const Place place = place_of(warp, lane_at(i));
    unrolled<patch_side>([&](int j) {
      const auto odd = static_cast<std::uint32_t>(j % 2);
      const auto at = static_cast<std::uint32_t>(j);
      if (lane_at(i) % lanes_across == 0)
        shared.row_amax[place.row + at][warp % warps_across] = amaxes.value[i].rows.value(j / 2, odd);
      if (lane_at(i) / lanes_across == 0)
        shared.column_amax[warp / warps_across][place.column + at] = amaxes.value[i].columns.value(j / 2, odd);
    });
  });
}

/// Half of the threads for the tile's rows, half for its columns.
template <class E>
TARE_HD inline void make_factors_of_tile(const Tile& tile, const Block& block, TileShared& shared) {
  each_thread(block, [&](std::uint32_t thread) {
    const std::uint32_t at = thread % tile_side;
    if (thread < tile_side) {
      if (tile.matrix.rowwise.data == nullptr) return;
      const float amax = larger(shared.row_amax[at][0], shared.row_amax[at][1]);
      const fp8::BlockScale scale = block_scale(tile.how, amax, E::dtype, tile.of_matrix);
      shared.row_factor[at] = scale.factor;
      keep_row(tile, tile.row + at, tile.column, scale);
    } else {
      if (tile.matrix.columnwise.data == nullptr) return;
      float amax = 0;
      for (const auto& of_warps : shared.column_amax) amax = larger(amax, of_warps[at]);
      const fp8::BlockScale scale = block_scale(tile.how, amax, E::dtype, tile.of_matrix);
      shared.column_factor[at] = scale.factor;
      keep_column(tile, tile.row, tile.column + at, scale);
    }
  });
}

TARE_HD inline Factors8 factors_from(const float* shared) {
  Factors8 factors;
  unrolled<patch_side>([&](int j) { factors.of[j] = shared[j]; });
  return factors;
}

/// Tiles whose rows and columns are blocks.
template <fp8::Format F, class E>
TARE_HD inline void quantise_lines(const Tile& tile, const Block& block, TileShared& shared) {
  PerWarp<PerLane<Patch<E>>> patches;
  block.each_warp([&](int warp) {
    PerLane<Amaxes<E>> amaxes;
    load_patches(tile, warp, patches.of(warp));
    find_amaxes(patches.of(warp), amaxes);
    leave_amaxes<E>(warp, amaxes, shared);
  });
  make_factors_of_tile<E>(tile, block, shared);
  block.each_warp_alone([&](int warp) {
    each_lane([&](int i) {
      const Place place = place_of(warp, lane_at(i));
      const Patch<E>& patch = patches.of(warp).value[i];
      write_rowwise<F>(tile, place, patch, factors_from(shared.row_factor + place.row));
      write_columnwise<fp8::Scaling::blockwise_1d, F>(tile, place, patch,
                                                      factors_from(shared.column_factor + place.column));
    });
  });
}

/// Tiles that are a block. `turn`: 0 and 1, one tile after another.
template <fp8::Format F, class E>
TARE_HD inline void quantise_square(const Tile& tile, const Block& block, TileShared& shared, int turn) {
  PerWarp<PerLane<Patch<E>>> patches;
  block.each_warp([&](int warp) {
    PerLane<Amaxes<E>> amaxes;
    load_patches(tile, warp, patches.of(warp));
    find_amaxes(patches.of(warp), amaxes);
    const float greatest = amax_of_warp(amaxes);
    each_lane([&](int i) {
      if (lane_at(i) == 0) shared.warp_amax[turn][warp] = greatest;
    });
  });
  float amax = 0;
  for (int warp = 0; warp < block_warps; ++warp) amax = larger(amax, shared.warp_amax[turn][warp]);
  const fp8::BlockScale scale = block_scale(tile.how, amax, E::dtype, tile.of_matrix);
  block.in_one_thread([&] {
    if (tile.matrix.rowwise.data != nullptr)
      keep(tile, tile.matrix.rowwise, rowwise_scale_at(tile.matrix, tile.row / tile_side, tile.column / tile_side),
           scale);
    if (tile.matrix.columnwise.data != nullptr)
      keep(tile, tile.matrix.columnwise,
           columnwise_scale_at(tile.how.scaling, tile.matrix, tile.row / tile_side, tile.column / tile_side), scale);
  });
  block.each_warp_alone([&](int warp) {
    each_lane([&](int i) { write_both<F>(tile, place_of(warp, lane_at(i)), patches.of(warp).value[i], scale.factor); });
  });
}

template <fp8::Scaling S, fp8::Format F, class E>
TARE_HD inline void quantise_tile(const Tile& tile, const Block& block, TileShared& shared, int turn) {
  if constexpr (S == fp8::Scaling::blockwise_1d) {
    quantise_lines<F, E>(tile, block, shared);
  } else if constexpr (S == fp8::Scaling::blockwise_2d) {
    quantise_square<F, E>(tile, block, shared, turn);
  } else if constexpr (fp8::block_length(S) != 0) {
    quantise_small_blocks<S, F, E>(tile, block);
  } else {
    quantise_whole<S, F, E>(tile, block);
  }
}

/// What is kept of a matrix with one scale, by one thread for each.
TARE_HD inline void keep_inverse(const MatrixArguments& all, std::uint32_t index, float of_matrix) {
  const fp8::Matrix& matrix = all.matrices[index];
  const std::uint32_t kept = bits_of(1.0f / of_matrix);
  if (matrix.rowwise.scales != nullptr) store_scale(all.how.scaling, matrix.rowwise.scales, 0, kept);
  if (matrix.columnwise.scales != nullptr) store_scale(all.how.scaling, matrix.columnwise.scales, 0, kept);
}

template <fp8::Scaling S>
TARE_HD inline float scale_of_matrix(const MatrixArguments& all, std::uint32_t index) {
  if (fp8::looks_first(S)) return all.progress[index].scale;
  return S == fp8::Scaling::delayed ? *all.matrices[index].scale : 1.0f;
}

/// All that one block does. REQUIRES: the matrices' values are E.
template <fp8::Scaling S, class E>
TARE_HD inline void quantise_tiles(const MatrixArguments& all, const Block& block, TileShared& shared) {
  if constexpr (fp8::block_length(S) == 0) {
    block.in_one_thread([&] {
      for (std::uint32_t i = block.index; i < all.count; i += block.blocks) {
        keep_inverse(all, i, scale_of_matrix<S>(all, i));
      }
    });
  }
  int turn = 0;
  for (std::uint32_t at = block.index; at < all.first_tile[all.count]; at += block.blocks, turn ^= 1) {
    const std::uint32_t index = matrix_at(all.first_tile, all.count, at);
    Tile tile = tile_at(all, index, at);
    tile.how.scaling = S;  // known when compiling, from here on
    tile.of_matrix = scale_of_matrix<S>(all, index);
    if constexpr (S == fp8::Scaling::nvfp4) {
      quantise_tile<S, fp8::Format::e2m1, E>(tile, block, shared, turn);
    } else if (tile.how.format == fp8::Format::e4m3) {
      quantise_tile<S, fp8::Format::e4m3, E>(tile, block, shared, turn);
    } else {
      quantise_tile<S, fp8::Format::e5m2, E>(tile, block, shared, turn);
    }
  }
}

}  // namespace tare::kernels::cuda
