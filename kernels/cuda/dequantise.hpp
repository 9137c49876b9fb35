// Lists of fp8 tensors multiplied by the inverse scale of their slots, into f32, f16 or bf16: one launch.
#pragma once

#include "kernels/cuda/quantise.hpp"

namespace tare::kernels::cuda {

struct DequantiseArguments {
  static constexpr bool blocks_share_pieces = true;
  const WorkPiece* pieces;
  const Binding* inputs;
  const Binding* outputs;           ///< f32, f16 or bf16, as many elements
  const std::uint32_t* slots;       ///< one a tensor
  const float* factor;              ///< one a slot
  Segment segments[most_segments];  ///< e4m3 and e5m2
  std::int32_t segment_count;
  std::uint32_t items;
  Turns* turns;
};

template <class E, class Format, class To>
class Dequantiser {
  using Bits = typename E::Bits;
  using Out = typename To::Bits;
  static constexpr int per_vector = Layout<E>::per_vector;

 public:
  static constexpr int loads_in_flight = 4;

  TARE_HD Dequantiser(unsigned char* to, float factor) : to_(to), factor_(factor) {}

  TARE_HD void full(const Vector& vector, std::uint32_t index) {
    alignas(16) Out out[per_vector];
    unrolled<per_vector>([&](int j) { out[j] = made(element_of<Bits>(vector, j)); });
    unsigned char* to = to_ + std::uint64_t{index} * sizeof(Out);
    if (reinterpret_cast<std::uintptr_t>(to) % vector_bytes == 0) {
      memcpy(__builtin_assume_aligned(to, vector_bytes), out, sizeof out);
    } else {
      unrolled<per_vector>([&](int j) { store(index + static_cast<std::uint32_t>(j), out[j]); });
    }
  }
  TARE_HD void one(Bits bits, int, std::uint32_t index) { store(index, made(bits)); }

 private:
  TARE_HD Out made(Bits bits) const { return To::bits(product(widen<Format>(bits), factor_)); }
  TARE_HD void store(std::uint32_t index, Out out) const {
    memcpy(__builtin_assume_aligned(to_ + std::uint64_t{index} * sizeof out, sizeof out), &out, sizeof out);
  }

  unsigned char* to_;
  float factor_;
};

template <class E, class Format, class To>
TARE_HD inline void dequantise_piece(const DequantiseArguments& all, const WorkPiece& piece) {
  unsigned char* to = all.outputs[piece.tensor].data + piece.offset * sizeof(typename To::Bits);
  const Stretch stretch = {all.inputs[piece.tensor].data + piece.offset, to, piece.count};
  each_lane([&](int i) {
    Dequantiser<E, Format, To> dequantiser(to, all.factor[all.slots[piece.tensor]]);
    visit_lane<E, warp_lanes>(stretch, lane_at(i), dequantiser);
  });
}

template <class E, class Format>
TARE_HD inline void dequantise_from(const DequantiseArguments& all, const WorkPiece& piece) {
  switch (static_cast<Dtype>(all.outputs[piece.tensor].dtype)) {
    case Dtype::f32:
      dequantise_piece<E, Format, Element<Dtype::f32>>(all, piece);
      break;
    case Dtype::f16:
      dequantise_piece<E, Format, Element<Dtype::f16>>(all, piece);
      break;
    case Dtype::bf16:
      dequantise_piece<E, Format, Element<Dtype::bf16>>(all, piece);
      break;
    default:
      break;
  }
}

/// All that one block does.
TARE_HD inline void dequantise_block(const DequantiseArguments& all, const Block& block, CastShared& shared) {
  each_share_of_block(all, block, shared, [&](Dtype dtype, const WorkPiece& piece) {
    if (dtype == Dtype::f8_e4m3fn) dequantise_from<Element<Dtype::f8_e4m3fn>, F8E4m3fn>(all, piece);
    if (dtype == Dtype::f8_e5m2) dequantise_from<Element<Dtype::f8_e5m2>, F8E5m2>(all, piece);
  });
}

}  // namespace tare::kernels::cuda
