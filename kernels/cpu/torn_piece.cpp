#include "kernels/cpu/torn_piece.hpp"

#include <cmath>

#include "kernels/dtype.hpp"

namespace tare::kernels::cpu {
namespace {

template <class Bits, class ValueOf>
FiniteValues values_as(const Piece& piece, const ValueOf& value_of) {
  const auto* bits = static_cast<const Bits*>(piece.data);
  FiniteValues found;
  for (std::uint32_t i = 0; i < piece.count; ++i) {
    const auto value = static_cast<double>(value_of(bits[i]));
    if (!is_finite(value)) {
      ++(is_nan(value) ? found.nans : found.infinities);
      continue;
    }
    const double magnitude = std::fabs(value);
    if (magnitude > found.max_abs) found.max_abs = magnitude;
    found.sum_of_squares += value * value;
  }
  return found;
}

}  // namespace

FiniteValues finite_values(const Piece& piece) {
  switch (piece.dtype) {
    case Dtype::f32:
      return values_as<float>(piece, [](float value) { return value; });
    case Dtype::f64:
      return values_as<double>(piece, [](double value) { return value; });
    case Dtype::f16:
      return values_as<F16::Bits>(piece, widen<F16>);
    case Dtype::bf16:
      return values_as<Bf16::Bits>(piece, widen<Bf16>);
    case Dtype::f8_e4m3fn:
      return values_as<F8E4m3fn::Bits>(piece, widen<F8E4m3fn>);
    case Dtype::f8_e5m2:
      return values_as<F8E5m2::Bits>(piece, widen<F8E5m2>);
  }
  return {};
}

}  // namespace tare::kernels::cpu
