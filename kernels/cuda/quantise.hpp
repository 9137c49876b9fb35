// Lists of tensors quantised to fp8, each with the scale of its slot, and its amax raised in the same pass: three bytes
// an element of bf16, in one launch for any number of tensors. A warp takes a piece.
#pragma once

#include "kernels/cuda/arguments.hpp"
#include "kernels/fp8/slots.hpp"

namespace tare::kernels::cuda {

struct QuantiseArguments {
  const WorkPiece* pieces;
  const Binding* inputs;
  const Binding* outputs;           ///< e4m3 or e5m2, as many elements
  const std::uint32_t* slots;       ///< one a tensor
  const float* scale;               ///< one a slot: what values are multiplied by
  std::uint32_t* amax;              ///< one a slot: the bits of a float, raised
  Segment segments[kMostSegments];  ///< f32, f16 and bf16
  std::int32_t segment_count;
  std::uint32_t piece_count;
};

/// A lane's way through a piece: the greatest magnitude that it saw, and what it wrote.
template <class E, class Format>
class Quantiser {
  using Bits = typename E::Bits;
  using Out = typename Format::Bits;
  static constexpr int kCount = Layout<E>::per_vector;

 public:
  static constexpr int kInFlight = 8;

  TARE_HD Quantiser(unsigned char* to, float scale) : to_(to), scale_(scale) {}

  TARE_HD void full(const Vector& vector, std::uint32_t index) {
    alignas(8) Out out[kCount];
    unrolled<kCount>([&](int j) { out[j] = made(element_of<Bits>(vector, j)); });
    unsigned char* to = to_ + index;
    if (reinterpret_cast<std::uintptr_t>(to) % kCount == 0) {
      memcpy(__builtin_assume_aligned(to, kCount), out, kCount);
    } else {
      unrolled<kCount>([&](int j) { to[j] = out[j]; });
    }
  }
  TARE_HD void one(Bits bits, int, std::uint32_t index) { to_[index] = made(bits); }

  Bits max = 0;

 private:
  TARE_HD Out made(Bits bits) {
    max = larger<Bits>(max, bits & E::magnitude);
    return saturated<Format>(product(E::value(bits), scale_));
  }

  unsigned char* to_;
  float scale_;
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
  unsigned char* to = all.outputs[piece.tensor].data + piece.offset;
  const Stretch stretch = {all.inputs[piece.tensor].data + piece.offset * sizeof(typename E::Bits), to, piece.count};
  PerLane<std::uint32_t> max;
  each_lane([&](int i) {
    Quantiser<E, Format> quantiser(to, all.scale[slot]);
    visit_lane<E, kWarpLanes>(stretch, lane_at(i), quantiser);
    max.value[i] = bits_of(E::value(quantiser.max)) & 0x7fffffffu;
  });
  for (int mask = kWarpLanes / 2; mask > 0; mask /= 2) {
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return max.value[i]; },
        [](std::uint32_t a, std::uint32_t b) { return larger(a, b); });
  }
  each_lane([&](int i) {
    if (lane_at(i) == 0) raise_amax(all.amax + slot, max.value[i]);
  });
}

template <class E>
TARE_HD inline void quantise_from(const QuantiseArguments& all, const WorkPiece& piece) {
  if (all.outputs[piece.tensor].dtype == static_cast<std::int32_t>(Dtype::kF8E4m3fn)) {
    quantise_piece<E, F8E4m3fn>(all, piece);
  } else {
    quantise_piece<E, F8E5m2>(all, piece);
  }
}

/// All that one block does.
TARE_HD inline void quantise_block(const QuantiseArguments& all, const Block& block) {
  block.each_warp([&](int warp) {
    for (std::uint32_t number = block.index + static_cast<std::uint32_t>(warp) * block.blocks; number < all.piece_count;
         number += block.blocks * kWarps) {
      int s = all.segment_count - 1;
      while (s > 0 && number < all.segments[s].first_piece) --s;
      const WorkPiece piece = all.pieces[number];
      switch (static_cast<Dtype>(all.segments[s].dtype)) {
        case Dtype::kF32:
          quantise_from<Element<Dtype::kF32>>(all, piece);
          break;
        case Dtype::kF16:
          quantise_from<Element<Dtype::kF16>>(all, piece);
          break;
        case Dtype::kBf16:
          quantise_from<Element<Dtype::kBf16>>(all, piece);
          break;
        default:
          break;
      }
    }
  });
}

}  // namespace tare::kernels::cuda
