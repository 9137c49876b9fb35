#include "lib/scaler/finite_values.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/dtype.hpp"

namespace tare {
namespace {

template <class Bits, class ValueOf>
FiniteValues values_as(const kernels::Tensor& tensor, double factor, const ValueOf& value_of) {
  const auto* bits = static_cast<const Bits*>(tensor.data);
  FiniteValues found;
  for (std::uint64_t i = 0; i < tensor.count; ++i) {
    const auto value = static_cast<double>(value_of(bits[i]));
    if (is_finite(value)) {
      found.max_abs = std::max(found.max_abs, std::fabs(value));
      found.sum_of_squares += value * value;
    } else {
      ++(is_nan(value) ? found.nans : found.infinities);
    }
  }
  found.max_abs *= factor;
  found.sum_of_squares *= factor * factor;
  return found;
}

}  // namespace

FiniteValues finite_values(const kernels::Tensor& tensor, double factor) {
  switch (tensor.dtype) {
    case Dtype::f32:
      return values_as<float>(tensor, factor, [](float value) { return value; });
    case Dtype::f64:
      return values_as<double>(tensor, factor, [](double value) { return value; });
    case Dtype::f16:
      return values_as<F16::Bits>(tensor, factor, widen<F16>);
    case Dtype::bf16:
      return values_as<Bf16::Bits>(tensor, factor, widen<Bf16>);
    case Dtype::f8_e4m3fn:
      return values_as<F8E4m3fn::Bits>(tensor, factor, widen<F8E4m3fn>);
    case Dtype::f8_e5m2:
      return values_as<F8E5m2::Bits>(tensor, factor, widen<F8E5m2>);
  }
  return {};
}

FiniteValues all_finite(const kernels::Statistics& seen) {
  return {0, 0, seen.max_abs, seen.sum_of_squares};
}

void merge(FiniteValues& into, const FiniteValues& more) {
  into.nans += more.nans;
  into.infinities += more.infinities;
  into.max_abs = std::max(into.max_abs, more.max_abs);
  into.sum_of_squares += more.sum_of_squares;
}

}  // namespace tare
