#include "kernels/magnitude.hpp"

#include <cmath>
#include <limits>

namespace tare::kernels {
namespace {

double any_nan_to_one(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

std::uint64_t first_pattern_not_finite(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
      return 0x7f800000u;
    case Dtype::kF64:
      return 0x7ff0000000000000u;
    case Dtype::kF16:
      return F16::largest + 1u;
    case Dtype::kBf16:
      return Bf16::largest + 1u;
    case Dtype::kF8E4m3fn:
      return F8E4m3fn::largest + 1u;
    case Dtype::kF8E5m2:
      return F8E5m2::largest + 1u;
  }
  return 0;
}

}  // namespace

double magnitude(Dtype dtype, std::uint64_t pattern) {
  switch (dtype) {
    case Dtype::kF32:
      return any_nan_to_one(float_from(static_cast<std::uint32_t>(pattern)));
    case Dtype::kF64:
      return any_nan_to_one(double_from(pattern));
    case Dtype::kF16:
      return any_nan_to_one(widen<F16>(static_cast<F16::Bits>(pattern)));
    case Dtype::kBf16:
      return any_nan_to_one(widen<Bf16>(static_cast<Bf16::Bits>(pattern)));
    case Dtype::kF8E4m3fn:
      return any_nan_to_one(widen<F8E4m3fn>(static_cast<F8E4m3fn::Bits>(pattern)));
    case Dtype::kF8E5m2:
      return any_nan_to_one(widen<F8E5m2>(static_cast<F8E5m2::Bits>(pattern)));
  }
  return 0;
}

std::uint64_t pattern_of_threshold(Dtype dtype, double threshold) {
  if (!(threshold > 0)) return 0;
  std::uint64_t low = 0;
  std::uint64_t high = first_pattern_not_finite(dtype);
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (magnitude(dtype, middle) < threshold) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace tare::kernels
