#include "kernels/magnitude.hpp"

namespace tare::kernels {
namespace {

std::uint64_t first_pattern_not_finite(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return 0x7f800000u;
    case Dtype::f64:
      return 0x7ff0000000000000u;
    case Dtype::f16:
      return F16::largest + 1u;
    case Dtype::bf16:
      return Bf16::largest + 1u;
    case Dtype::f8_e4m3fn:
      return F8E4m3fn::largest + 1u;
    case Dtype::f8_e5m2:
      return F8E5m2::largest + 1u;
  }
  return 0;
}

}  // namespace

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
