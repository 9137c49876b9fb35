#include "kernels/fp8/cast.hpp"

#include <algorithm>
#include <cstring>

namespace tare::kernels::fp8 {
namespace {

template <class Bits>
Bits load(const Tensor& tensor, std::uint64_t index) {
  Bits bits;
  std::memcpy(&bits, static_cast<const unsigned char*>(tensor.data) + index * sizeof bits, sizeof bits);
  return bits;
}

template <class Bits>
void store(const Tensor& tensor, std::uint64_t index, Bits bits) {
  std::memcpy(static_cast<unsigned char*>(tensor.data) + index * sizeof bits, &bits, sizeof bits);
}

/// Shows every element of `from`, scaled, to `then`.
template <class E, class Then>
Noted each_scaled(const Tensor& from, const Factor& by, const Then& then) {
  Noted noted;
  typename E::Bits greatest = 0;
  for (std::uint64_t i = 0; i < from.count; ++i) {
    const auto bits = load<typename E::Bits>(from, i);
    greatest = std::max<typename E::Bits>(greatest, bits & E::magnitude);
    const float value = scaled(E::value(bits), by);
    noted.at_largest += reaches(value, by.largest) ? 1 : 0;
    then(i, value);
  }
  noted.amax = bits_of(E::value(greatest)) & 0x7fffffffu;
  return noted;
}

template <class Then>
Noted each_scaled(const Tensor& from, const Factor& by, const Then& then) {
  using cuda::Element;
  switch (from.dtype) {
    case Dtype::f32:
      return each_scaled<Element<Dtype::f32>>(from, by, then);
    case Dtype::f16:
      return each_scaled<Element<Dtype::f16>>(from, by, then);
    case Dtype::bf16:
      return each_scaled<Element<Dtype::bf16>>(from, by, then);
    default:
      return {};
  }
}

template <class Format, class To>
void dequantise_to(const Tensor& from, const Tensor& to, float factor) {
  for (std::uint64_t i = 0; i < from.count; ++i) {
    const float value = widen<Format>(load<typename Format::Bits>(from, i));
    store(to, i, To::bits(cuda::product(value, factor)));
  }
}

template <class Format>
void dequantise_from(const Tensor& from, const Tensor& to, float factor) {
  using cuda::Element;
  if (to.dtype == Dtype::f32) dequantise_to<Format, Element<Dtype::f32>>(from, to, factor);
  if (to.dtype == Dtype::f16) dequantise_to<Format, Element<Dtype::f16>>(from, to, factor);
  if (to.dtype == Dtype::bf16) dequantise_to<Format, Element<Dtype::bf16>>(from, to, factor);
}

}  // namespace

Noted observe(const Tensor& from, const Factor& by) {
  return each_scaled(from, by, [](std::uint64_t, float) {});
}

Noted quantise(const Tensor& from, const Tensor& to, const Factor& by) {
  if (to.dtype == Dtype::f8_e4m3fn) {
    return each_scaled(from, by, [&](std::uint64_t i, float value) { store(to, i, cuda::saturated<F8E4m3fn>(value)); });
  }
  if (to.dtype == Dtype::f16) {
    return each_scaled(from, by, [&](std::uint64_t i, float value) { store(to, i, narrow<F16>(value)); });
  }
  return each_scaled(from, by, [&](std::uint64_t i, float value) { store(to, i, cuda::saturated<F8E5m2>(value)); });
}

void dequantise(const Tensor& from, const Tensor& to, float factor) {
  if (from.dtype == Dtype::f8_e4m3fn) {
    dequantise_from<F8E4m3fn>(from, to, factor);
  } else if (from.dtype == Dtype::f16) {
    dequantise_from<F16>(from, to, factor);
  } else {
    dequantise_from<F8E5m2>(from, to, factor);
  }
}

}  // namespace tare::kernels::fp8
