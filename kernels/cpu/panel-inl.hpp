// Rows of a panel for one instruction set: see panel.hpp, and elements-inl.hpp for what may stand here.
#pragma once

#include "kernels/cpu/elements-inl.hpp"
#include "kernels/cpu/panel.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

using Panel = hn::CappedTag<float, panel_step>;
inline constexpr std::uint32_t panel_lanes = static_cast<std::uint32_t>(lanes_of<Panel>);

template <class E>
void widen_row(const void* from, std::uint32_t count, float* to) {
  using Storage = typename E::Storage;
  const auto* at = static_cast<const Storage*>(from);
  const Panel d;
  std::uint32_t i = 0;
  for (; i + panel_lanes <= count; i += panel_lanes) hn::StoreU(load_float(E(), d, at + i), d, to + i);
  Storage rest[panel_step] = {};
  const std::uint32_t begin = i - i % panel_step;
  for (std::uint32_t j = begin; j < count; ++j) rest[j - begin] = at[j];
  for (; i % panel_step != 0 || i < count; i += panel_lanes) {
    hn::StoreU(load_float(E(), d, rest + (i - begin)), d, to + i);
  }
}

/// Signed, which magnitudes never fill: every instruction set compares those.
HWY_INLINE hn::Vec<hn::RebindToSigned<Panel>> magnitude_or_none(hn::Vec<Panel> value) {
  const hn::RebindToSigned<Panel> di;
  const auto magnitude = hn::And(hn::BitCast(di, value), hn::Set(di, 0x7fffffff));
  return hn::IfThenZeroElse(hn::Gt(magnitude, hn::Set(di, 0x7f800000)), magnitude);
}

inline std::uint32_t amax_of_row(const float* values, std::uint32_t count) {
  const Panel d;
  const hn::RebindToSigned<Panel> di;
  auto greatest = hn::Zero(di);
  for (std::uint32_t i = 0; i < count; i += panel_lanes) {
    greatest = hn::Max(greatest, magnitude_or_none(hn::LoadU(d, values + i)));
  }
  return static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(di, greatest)));
}

inline void raise_columns(const float* values, std::uint32_t count, std::uint32_t* amax) {
  const Panel d;
  const hn::RebindToSigned<Panel> di;
  auto* at = reinterpret_cast<std::int32_t*>(amax);
  for (std::uint32_t i = 0; i < count; i += panel_lanes) {
    hn::StoreU(hn::Max(hn::LoadU(di, at + i), magnitude_or_none(hn::LoadU(d, values + i))), di, at + i);
  }
}

struct E4m3 {
  static constexpr int mantissa_bits = 3, bias = 7;
  static constexpr std::uint32_t largest = 0x7e, nan = 0x7f, sign = 0x80;
};
struct E5m2 {
  static constexpr int mantissa_bits = 2, bias = 15;
  static constexpr std::uint32_t largest = 0x7b, nan = 0x7f, sign = 0x80;
};
/// NaN is 6 there.
struct E2m1 {
  static constexpr int mantissa_bits = 1, bias = 1;
  static constexpr std::uint32_t largest = 0x7, nan = 0x7, sign = 0x8;
};

template <class Format>
HWY_INLINE hn::Vec<Bits32<Panel>> quantised(hn::Vec<Panel> value) {
  const Panel d;
  const Bits32<Panel> du;
  const hn::RebindToSigned<Panel> di;
  constexpr int dropped = 23 - Format::mantissa_bits;
  constexpr std::uint32_t other_bias = 127 - Format::bias;
  // Added to a denormal, it leaves as many bits of it as the format has, rounded.
  const auto rounder = hn::Set(du, (other_bias + 1 + dropped) << 23);
  const auto bits = hn::BitCast(du, value);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffffffu));
  const auto as_signed = hn::BitCast(di, magnitude);
  const auto sum = hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, rounder));
  const auto denormal = hn::Sub(hn::BitCast(du, sum), rounder);
  const auto odd = hn::And(hn::ShiftRight<dropped>(magnitude), hn::Set(du, 1u));
  const auto half = hn::Add(hn::Set(du, (1u << (dropped - 1)) - 1u), odd);
  const auto normal =
      hn::Sub(hn::ShiftRight<dropped>(hn::Add(magnitude, half)), hn::Set(du, other_bias << Format::mantissa_bits));
  const auto is_denormal =
      hn::RebindMask(du, hn::Lt(as_signed, hn::Set(di, static_cast<std::int32_t>((other_bias + 1) << 23))));
  const auto rounded = hn::BitCast(di, hn::IfThenElse(is_denormal, denormal, normal));
  const auto finite = hn::BitCast(du, hn::Min(rounded, hn::Set(di, static_cast<std::int32_t>(Format::largest))));
  const auto sign =
      hn::IfThenElseZero(hn::RebindMask(du, hn::Lt(hn::BitCast(di, bits), hn::Zero(di))), hn::Set(du, Format::sign));
  const auto is_nan = hn::RebindMask(du, hn::Gt(as_signed, hn::Set(di, 0x7f800000)));
  return hn::IfThenElse(is_nan, hn::Set(du, Format::nan), hn::Or(finite, sign));
}

template <class Format>
void cast_row(const float* values, const float* factors, std::uint32_t count, std::uint8_t* to) {
  const Panel d;
  const hn::Rebind<std::uint8_t, Panel> d8;
  for (std::uint32_t i = 0; i < count; i += panel_lanes) {
    const auto scaled = hn::Mul(hn::LoadU(d, values + i), hn::LoadU(d, factors + i));
    hn::StoreU(hn::TruncateTo(d8, quantised<Format>(scaled)), d8, to + i);
  }
}

/// A NaN becomes NVIDIA's.
HWY_INLINE hn::Vec<Panel> scaled_back(const float* values, const float* factors) {
  const Panel d;
  const auto product = hn::Mul(hn::LoadU(d, values), hn::LoadU(d, factors));
  return hn::IfThenElse(hn::IsNaN(product), hn::BitCast(d, hn::Set(Bits32<Panel>(), 0x7fffffffu)), product);
}

template <class E>
void narrow_row(const float* values, const float* factors, std::uint32_t count, void* to) {
  using Storage = typename E::Storage;
  auto* at = static_cast<Storage*>(to);
  const Panel d;
  std::uint32_t i = 0;
  for (; i + panel_lanes <= count; i += panel_lanes) {
    store(E(), d, scaled_back(values + i, factors + i), at + i, false);
  }
  if (i == count) return;
  Storage rest[panel_step];
  store(E(), d, scaled_back(values + i, factors + i), rest, false);
  for (std::uint32_t j = 0; i + j < count; ++j) at[i + j] = rest[j];
}

template <class... E>
consteval PanelTable make_panels() {
  PanelTable table = {};
  ((table.widen[E::id] = widen_row<E>), ...);
  ((table.narrow[E::id] = narrow_row<E>), ...);
  table.amax = amax_of_row;
  table.raise = raise_columns;
  table.cast[0] = cast_row<E4m3>;
  table.cast[1] = cast_row<E5m2>;
  table.cast[2] = cast_row<E2m1>;
  return table;
}

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
