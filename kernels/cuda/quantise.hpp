// Lists of tensors quantised to fp8, each with the scale of its slot, or only looked at; the slot's amax is raised in
// the same pass: three bytes an element of bf16, in one launch for any number of tensors.
#pragma once

#include "kernels/cuda/arguments.hpp"
#include "kernels/fp8/cast_element.hpp"
#include "kernels/fp8/slots.hpp"

namespace tare::kernels::cuda {

/// Which block takes what: all 0 between launches.
struct Turns {
  std::uint32_t ticket;
  std::uint32_t cursor;
};

/// What the threads of a block share.
struct CastShared {
  std::uint32_t next[2];
  std::uint32_t ticket;
};

struct QuantiseArguments {
  static constexpr bool blocks_share_pieces = true;
  const WorkPiece* pieces;
  const Binding* inputs;
  const Binding* outputs;           ///< e4m3 or e5m2, as many elements; null: nothing is written
  const std::uint32_t* slots;       ///< one a tensor
  const float* factor;              ///< one a slot: what values are multiplied by
  const float* largest;             ///< one a slot: of its format
  std::uint32_t* amax;              ///< one a slot: the bits of a float, raised; null: not wanted
  std::uint64_t* seen;              ///< one a slot: values looked at; null: not wanted
  std::uint64_t* at_largest;        ///< one a slot: those that reach the largest; null as `seen` is
  Segment segments[most_segments];  ///< f32, f16 and bf16
  std::int32_t segment_count;
  std::uint32_t items;
  Turns* turns;
  std::int32_t divides;  ///< values are divided by the factor instead
  std::uint32_t above;   ///< Fp8LmParams::above
};

/// A lane's way through a piece: the greatest magnitude that it saw, and what it wrote.
template <class E, class Format>
class Quantiser {
  using Bits = typename E::Bits;
  using Out = typename Format::Bits;
  static constexpr int per_vector = Layout<E>::per_vector;

 public:
  static constexpr int loads_in_flight = 8;

  TARE_HD Quantiser(unsigned char* to, const fp8::Factor& by)
      : to_(to), by_(by), multiplies_finite_(!by.divides && is_finite(by.factor)) {}

  TARE_HD void full(const Vector& vector, std::uint32_t index) {
    alignas(8) Out out[per_vector];
    if (!multiplies(vector, out)) unrolled<per_vector>([&](int j) { out[j] = made(element_of<Bits>(vector, j)); });
    if (to_ == nullptr) return;
    unsigned char* to = to_ + index;
    if (reinterpret_cast<std::uintptr_t>(to) % per_vector == 0) {
      memcpy(__builtin_assume_aligned(to, per_vector), out, per_vector);
    } else {
      unrolled<per_vector>([&](int j) { to[j] = out[j]; });
    }
  }
  TARE_HD void one(Bits bits, int, std::uint32_t index) {
    const Out out = made(bits);
    if (to_ != nullptr) to_[index] = out;
  }

  Bits max = 0;
  std::uint32_t at_largest = 0;

 private:
  /// A whole vector at once; false where there is an infinity or a NaN, or a value that reaches the largest, which are
  /// counted one by one. That is asked of the greatest alone: products are in the order of their factors.
  TARE_HD bool multiplies(const Vector& vector, Out* out) {
    const Bits greatest = greatest_of(vector);
    const float scaled = E::value(greatest) * by_.factor;
    if (!multiplies_finite_ || greatest >= infinite || fp8::reaches(scaled, by_.largest)) return false;
    max = larger<Bits>(max, greatest);
    unrolled<per_vector / 2>([&](int i) {
      float lower;
      float upper;
      if constexpr (sizeof(Bits) == 2) {
        widen_pair<E>(vector.words[i], lower, upper);
      } else {
        lower = E::value(vector.words[2 * i]);
        upper = E::value(vector.words[2 * i + 1]);
      }
      const std::uint16_t pair = saturated_pair<Format>(lower * by_.factor, upper * by_.factor);
      out[2 * i] = static_cast<Out>(pair);
      out[2 * i + 1] = static_cast<Out>(pair >> 8);
    });
    return true;
  }

  static constexpr Bits infinite = E::dtype == Dtype::f32    ? Bits(0x7f800000u)
                                   : E::dtype == Dtype::bf16 ? Bits(0x7f80u)
                                                             : Bits(0x7c00u);
  TARE_HD static Bits greatest_of(const Vector& vector) {
    if constexpr (sizeof(Bits) == 2) {
      const std::uint32_t pair = Pairs<E>(vector).greatest();
      return static_cast<Bits>(larger(lower_half(pair), upper_half(pair)));
    } else {
      Bits greatest = 0;
      unrolled<per_vector>([&](int j) { greatest = larger<Bits>(greatest, vector.words[j] & E::magnitude); });
      return greatest;
    }
  }

  TARE_HD Out made(Bits bits) {
    max = larger<Bits>(max, bits & E::magnitude);
    const float value = fp8::scaled(E::value(bits), by_);
    at_largest += fp8::reaches(value, by_.largest) ? 1 : 0;
    return saturated<Format>(value);
  }

  unsigned char* to_;
  fp8::Factor by_;
  bool multiplies_finite_;
};

TARE_HD inline void raise_amax(std::uint32_t* amax, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  if (bits > *static_cast<volatile std::uint32_t*>(amax)) atomicMax(amax, bits);
#else
  *amax = larger(*amax, bits);
#endif
}

template <class E, class Format>
TARE_HD inline void quantise_piece(const QuantiseArguments& all, const WorkPiece& piece) {
  const std::uint32_t slot = all.slots[piece.tensor];
  const fp8::Factor by = {all.factor[slot], all.divides != 0, float_from(bits_of(all.largest[slot]) + all.above)};
  unsigned char* to = all.outputs == nullptr ? nullptr : all.outputs[piece.tensor].data + piece.offset;
  const Stretch stretch = {all.inputs[piece.tensor].data + piece.offset * sizeof(typename E::Bits), to, piece.count};
  PerLane<std::uint32_t> max;
  PerLane<std::uint32_t> at_largest;
  each_lane([&](int i) {
    Quantiser<E, Format> quantiser(to, by);
    visit_lane<E, warp_lanes>(stretch, lane_at(i), quantiser);
    max.value[i] = bits_of(E::value(quantiser.max)) & 0x7fffffffu;
    at_largest.value[i] = quantiser.at_largest;
  });
  for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return max.value[i]; },
        [](std::uint32_t a, std::uint32_t b) { return larger(a, b); });
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return at_largest.value[i]; },
        [](std::uint32_t a, std::uint32_t b) { return a + b; });
  }
  each_lane([&](int i) {
    if (lane_at(i) != 0) return;
    if (all.amax != nullptr) raise_amax(all.amax + slot, max.value[i]);
    if (all.seen == nullptr) return;
    add_count(all.seen + slot, piece.count);
    add_count(all.at_largest + slot, at_largest.value[i]);
  });
}

/// Shows a warp's share of an item to `take`: the pieces that are its own, or its part of the one that a block shares.
template <class Arguments, class Take>
TARE_HD inline void each_share(const Arguments& all, std::uint32_t item, int warp, const Take& take) {
  const Segment& segment = segment_of(all, item);
  const auto dtype = static_cast<Dtype>(segment.dtype);
  const std::uint32_t pieces = pieces_of_item(dtype, segment.sharers_log2);
  const std::uint32_t first = (item - segment.first_item) * pieces;
  if constexpr (Arguments::blocks_share_pieces) {
    if (pieces == 1) {
      WorkPiece part = all.pieces[segment.first_piece + first];
      const std::uint32_t before = static_cast<std::uint32_t>(warp) * share_of_warp(dtype);
      if (before >= part.count) return;
      part.offset += before;
      part.count = smaller(part.count - before, share_of_warp(dtype));
      return take(dtype, part);
    }
  }
  const std::uint32_t end = smaller(first + pieces, segment.pieces);
  for (std::uint32_t i = first + static_cast<std::uint32_t>(warp); i < end; i += block_warps) {
    take(dtype, all.pieces[segment.first_piece + i]);
  }
}

/// Likewise for all items that a block takes.
template <class Arguments, class Take>
TARE_HD inline void each_share_of_block(const Arguments& all, const Block& block, CastShared& shared,
                                        const Take& take) {
  each_item(
      block, all.items, &all.turns->cursor, shared.next,
      [&](std::uint32_t item, int warp, int) { each_share(all, item, warp, take); }, [](std::uint32_t, int) {});
  if (!block.is_last(&all.turns->ticket, shared.ticket)) return;
  block.in_one_thread([&] { *all.turns = {}; });
}

template <class E>
TARE_HD inline void quantise_from(const QuantiseArguments& all, const WorkPiece& piece) {
  const bool e5m2 =
      all.outputs != nullptr && all.outputs[piece.tensor].dtype == static_cast<std::int32_t>(Dtype::f8_e5m2);
  if (!e5m2) {
    quantise_piece<E, F8E4m3fn>(all, piece);
  } else {
    quantise_piece<E, F8E5m2>(all, piece);
  }
}

/// All that one block does.
TARE_HD inline void quantise_block(const QuantiseArguments& all, const Block& block, CastShared& shared) {
  each_share_of_block(all, block, shared, [&](Dtype dtype, const WorkPiece& piece) {
    switch (dtype) {
      case Dtype::f32:
        quantise_from<Element<Dtype::f32>>(all, piece);
        break;
      case Dtype::f16:
        quantise_from<Element<Dtype::f16>>(all, piece);
        break;
      case Dtype::bf16:
        quantise_from<Element<Dtype::bf16>>(all, piece);
        break;
      default:
        break;
    }
  });
}

}  // namespace tare::kernels::cuda
