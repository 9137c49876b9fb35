// Gradients of many ranks in fp8, of which this one has a share of each rank's, become their sums in fp8: added in f32
// in the order of the ranks, rounded once. What reaches the largest is counted.
#pragma once

#include "kernels/cuda/quantise.hpp"

namespace tare::kernels::cuda {

struct RankSumsArguments {
  /// None of fp8 is longer than a warp's share.
  static constexpr bool blocks_share_pieces = piece_elements(1) > share_of_warp(Dtype::f8_e4m3fn);
  const WorkPiece* pieces;
  const Binding* inputs;            ///< of the first rank; e4m3 or e5m2
  const Binding* outputs;           ///< of the same format
  const std::uint32_t* tensors;     ///< of which gradient each is a stretch
  const float* down;                ///< one a gradient: NaN where its values count for nothing
  const float* largest;             ///< one a gradient: of its format
  std::uint64_t* seen;              ///< one a gradient
  std::uint64_t* at_largest;        ///< one a gradient
  std::uint64_t stride;             ///< from a rank's bytes to the next one's: a multiple of 16
  Segment segments[most_segments];  ///< e4m3 and e5m2
  std::int32_t segment_count;
  std::uint32_t items;
  Turns* turns;
  std::uint32_t ranks;
  std::uint32_t above;  ///< Fp8LmParams::above
};

inline constexpr std::uint8_t nan_byte = 0x7f;  // of both formats

/// A lane's way through a piece.
template <class E, class Format>
class RankAdder {
  using Bits = typename E::Bits;
  static constexpr int per_vector = Layout<E>::per_vector;

 public:
  static constexpr int loads_in_flight = 2;

  TARE_HD RankAdder(const RankSumsArguments& all, const Stretch& stretch, float counted_from, bool is_finite)
      : all_(all), stretch_(stretch), counted_from_(counted_from), is_finite_(is_finite) {}

  TARE_HD void full(const Vector& first, std::uint32_t index) {
    float sums[per_vector];
    unrolled<per_vector>([&](int j) { sums[j] = 0.0f + widen<Format>(element_of<Bits>(first, j)); });
    for (std::uint32_t rank = 1; rank < all_.ranks; ++rank) {
      const Vector next = load_vector(stretch_.from + rank * all_.stride + index);
      unrolled<per_vector>([&](int j) { sums[j] += widen<Format>(element_of<Bits>(next, j)); });
    }
    alignas(16) Bits out[per_vector];
    unrolled<per_vector>([&](int j) { out[j] = narrowed_sum(sums[j]); });
    memcpy(__builtin_assume_aligned(stretch_.to + index, vector_bytes), out, sizeof out);
  }
  TARE_HD void one(Bits bits, int, std::uint32_t index) {
    float sum = 0.0f + widen<Format>(bits);
    for (std::uint32_t rank = 1; rank < all_.ranks; ++rank) {
      sum += widen<Format>(stretch_.from[rank * all_.stride + index]);
    }
    stretch_.to[index] = narrowed_sum(sum);
  }

  std::uint32_t at_largest = 0;

 private:
  TARE_HD Bits narrowed_sum(float sum) {
    if (!is_finite_) return nan_byte;
    at_largest += fp8::reaches(sum, counted_from_) ? 1 : 0;
    return saturated<Format>(sum);
  }

  const RankSumsArguments& all_;
  const Stretch& stretch_;
  float counted_from_;
  bool is_finite_;
};

/// REQUIRES: input and output of a stretch lie at the same place within 16 bytes.
template <class E, class Format>
TARE_HD inline void add_piece(const RankSumsArguments& all, const WorkPiece& piece) {
  const std::uint32_t tensor = all.tensors[piece.tensor];
  const float counted_from = float_from(bits_of(all.largest[tensor]) + all.above);
  const Stretch stretch = {all.inputs[piece.tensor].data + piece.offset, all.outputs[piece.tensor].data + piece.offset,
                           piece.count};
  const bool counts = !is_nan(all.down[tensor]);
  PerLane<std::uint32_t> at_largest;
  each_lane([&](int i) {
    RankAdder<E, Format> adder(all, stretch, counted_from, counts);
    visit_lane<E, warp_lanes>(stretch, lane_at(i), adder);
    at_largest.value[i] = adder.at_largest;
  });
  for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return at_largest.value[i]; },
        [](std::uint32_t a, std::uint32_t b) { return a + b; });
  }
  if (!counts) return;
  each_lane([&](int i) {
    if (lane_at(i) != 0) return;
    add_count(all.seen + tensor, piece.count);
    add_count(all.at_largest + tensor, at_largest.value[i]);
  });
}

/// All that one block does.
TARE_HD inline void add_ranks_block(const RankSumsArguments& all, const Block& block, CastShared& shared) {
  each_share_of_block(all, block, shared, [&](Dtype dtype, const WorkPiece& piece) {
    if (dtype == Dtype::f8_e4m3fn) add_piece<Element<Dtype::f8_e4m3fn>, F8E4m3fn>(all, piece);
    if (dtype == Dtype::f8_e5m2) add_piece<Element<Dtype::f8_e5m2>, F8E5m2>(all, piece);
  });
}

}  // namespace tare::kernels::cuda
