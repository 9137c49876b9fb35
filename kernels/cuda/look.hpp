// A look at tensors on a GPU: a warp takes a piece, then one a tensor puts its pieces together.
#pragma once

#include "kernels/summarise.hpp"

namespace tare::kernels::cuda {

struct LookTensor {
  SummaryInput input;
  std::uint32_t first_piece;
};

struct LookPiece {
  std::uint32_t tensor;
  std::uint32_t number;  ///< in its tensor
};

struct LookArguments {
  const LookTensor* tensors;
  const LookPiece* work;
  std::uint32_t tensor_count;
  std::uint32_t pieces;
  Unscaling unscaling;
  const float* scale;     ///< null: `unscaling` is right
  Moments* moments;       ///< one a piece
  SummaryCounts* counts;  ///< one a tensor: all 0 between looks
  Summary* summaries;     ///< one a tensor, in the host's memory
};

/// The scale is read by whoever needs it, once the stream has come to the look.
TARE_HD inline Unscaling unscaling_of(const LookArguments& all) {
  return all.scale == nullptr ? all.unscaling : Unscaling(static_cast<double>(*all.scale));
}

/// What the warps of a block share.
struct LookShared {
  SummaryColumns columns[block_warps];
};

/// All that one block does: a piece for each warp.
TARE_HD inline void look_block(const LookArguments& all, const Block& block, LookShared& shared) {
  const auto number = [&](int warp) { return block.index * block_warps + static_cast<std::uint32_t>(warp); };
  block.each_warp([&](int warp) {
    if (number(warp) >= all.pieces) return;
    const LookPiece piece = all.work[number(warp)];
    summarise(all.tensors[piece.tensor].input, piece.number, unscaling_of(all), shared.columns[warp],
              all.moments[number(warp)], all.counts[piece.tensor]);
  });
  block.each_warp_alone([&](int warp) {
    if (number(warp) >= all.pieces) return;
    add_columns(shared.columns[warp], all.counts[all.work[number(warp)].tensor]);
  });
}

/// A warp's tensor, once all its pieces are done. Nothing is told of values that bear a scale which cannot be divided
/// out.
TARE_HD inline void finish_look(const LookArguments& all, std::uint32_t number) {
  const LookTensor tensor = all.tensors[number];
  const auto pieces = static_cast<std::uint32_t>(summary_pieces(tensor.input.count));
  SummaryCounts& counts = all.counts[number];
  Summary& summary = all.summaries[number];
  PerLane<Moments> chains;
  each_lane([&](int i) {
    for (auto piece = static_cast<std::uint32_t>(lane_at(i)); piece < pieces; piece += warp_lanes) {
      merge(chains.value[i], all.moments[tensor.first_piece + piece]);
    }
  });
  merge_chains(chains);
  const double scale = unscaling_of(all).scale;
  const bool is_told = is_finite(scale) && scale > 0;
  each_lane([&](int i) {
    for (int bin = lane_at(i); bin < ExponentHistogram::bin_count; bin += warp_lanes) {
      std::uint64_t& row = counts.rows[SummaryCounts::first_bin + bin];
      summary.exponents.bins[bin] = is_told ? row : 0;
      row = 0;
    }
    if (lane_at(i) != 0) return;
    if (is_told) {
      finish_summary(summary, tensor.input, chains.value[i], counts, scale);
    } else {
      finish_summary(summary, {}, {}, {}, 1);
    }
    counts.rows[SummaryCounts::below] = 0;
    counts.rows[SummaryCounts::above] = 0;
    counts.rows[SummaryCounts::zero] = 0;
    counts.nans = counts.infinities = counts.subnormals = 0;
  });
}

}  // namespace tare::kernels::cuda
