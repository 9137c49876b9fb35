// Tensors to fp8 and back on the host.
#pragma once

#include "kernels/fp8/cast_element.hpp"
#include "kernels/launch.hpp"

namespace tare::kernels::fp8 {

/// What a cast saw.
struct Noted {
  std::uint32_t amax = 0;  ///< the bits of a float
  std::uint64_t at_largest = 0;
};

/// Looks at an f32, f16 or bf16 tensor as quantise would.
Noted observe(const Tensor& from, const Factor& by);
/// Writes it to `to`, e4m3, e5m2 or f16 of as many elements: beyond the largest of fp8 is the largest, beyond that of
/// f16 infinity, as torch casts; NaN stays NaN.
Noted quantise(const Tensor& from, const Tensor& to, const Factor& by);
/// Multiplies an fp8 or f16 tensor by `factor`, into f32, f16 or bf16 of as many elements.
void dequantise(const Tensor& from, const Tensor& to, float factor);

}  // namespace tare::kernels::fp8
