#include "kernels/fp8/cast.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/fp8/blocks.hpp"

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

constexpr std::uint64_t block = 512;  // elements, whose values stay in the nearest cache

/// A NaN of a tensor goes before that of its factor, as everywhere.
void scale_block(float* values, std::uint64_t count, const Factor& by) {
  if (!by.divides && !is_nan(by.factor)) return multiply_block(values, count, by.factor);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = scaled(values[i], by);
}

std::uint64_t count_at_largest(const float* values, std::uint64_t count, float largest) {
  std::uint32_t at_largest = 0;
  for (std::uint64_t i = 0; i < count; ++i) at_largest += reaches(values[i], largest) ? 1u : 0u;
  return at_largest;
}

/// Shows all elements of `from`, scaled, to `then`: where they begin, the values and how many.
template <class E, class Then>
Noted each_block(const Tensor& from, const Factor& by, const Then& then) {
  Noted noted;
  typename E::Bits greatest = 0;
  typename E::Bits bits[block];
  float values[block];
  for (std::uint64_t begin = 0; begin < from.count; begin += block) {
    const std::uint64_t count = std::min(block, from.count - begin);
    std::memcpy(bits, static_cast<const unsigned char*>(from.data) + begin * sizeof bits[0], count * sizeof bits[0]);
    for (std::uint64_t i = 0; i < count; ++i) {
      greatest = std::max<typename E::Bits>(greatest, bits[i] & E::magnitude);
    }
    widen_block<E>(bits, count, values);
    scale_block(values, count, by);
    noted.at_largest += count_at_largest(values, count, by.largest);
    then(begin, values, count);
  }
  noted.amax = bits_of(E::value(greatest)) & 0x7fffffffu;
  return noted;
}

template <class Then>
Noted each_block(const Tensor& from, const Factor& by, const Then& then) {
  using cuda::Element;
  switch (from.dtype) {
    case Dtype::f32:
      return each_block<Element<Dtype::f32>>(from, by, then);
    case Dtype::f16:
      return each_block<Element<Dtype::f16>>(from, by, then);
    case Dtype::bf16:
      return each_block<Element<Dtype::bf16>>(from, by, then);
    default:
      return {};
  }
}

template <class Format>
Noted quantise_to(const Tensor& from, const Tensor& to, const Factor& by) {
  return each_block(from, by, [&](std::uint64_t begin, const float* values, std::uint64_t count) {
    saturate_block<Format>(values, count, static_cast<std::uint8_t*>(to.data) + begin);
  });
}

/// Of the wider formats, whose largest number saturates nothing.
template <class To>
Noted narrow_to(const Tensor& from, const Tensor& to, const Factor& by) {
  return each_block(from, by, [&](std::uint64_t begin, const float* values, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) store(to, begin + i, To::bits(values[i]));
  });
}

template <class Bits, class To, class ValueOf>
void dequantise_to(const Tensor& from, const Tensor& to, float factor, const ValueOf& value_of) {
  for (std::uint64_t i = 0; i < from.count; ++i) {
    store(to, i, To::bits(cuda::product(value_of(load<Bits>(from, i)), factor)));
  }
}

template <class Bits, class ValueOf>
void dequantise_from(const Tensor& from, const Tensor& to, float factor, const ValueOf& value_of) {
  using cuda::Element;
  if (to.dtype == Dtype::f32) dequantise_to<Bits, Element<Dtype::f32>>(from, to, factor, value_of);
  if (to.dtype == Dtype::f16) dequantise_to<Bits, Element<Dtype::f16>>(from, to, factor, value_of);
  if (to.dtype == Dtype::bf16) dequantise_to<Bits, Element<Dtype::bf16>>(from, to, factor, value_of);
}

template <class Format>
void dequantise_as(const Tensor& from, const Tensor& to, float factor) {
  using Bits = typename Format::Bits;
  dequantise_from<Bits>(from, to, factor, [](Bits bits) { return widen<Format>(bits); });
}

}  // namespace

Noted observe(const Tensor& from, const Factor& by) {
  return each_block(from, by, [](std::uint64_t, const float*, std::uint64_t) {});
}

Noted quantise(const Tensor& from, const Tensor& to, const Factor& by) {
  if (to.dtype == Dtype::f8_e4m3fn) return quantise_to<F8E4m3fn>(from, to, by);
  if (to.dtype == Dtype::f8_e5m2) return quantise_to<F8E5m2>(from, to, by);
  if (to.dtype == Dtype::f16) return narrow_to<cuda::Element<Dtype::f16>>(from, to, by);
  if (to.dtype == Dtype::bf16) return narrow_to<cuda::Element<Dtype::bf16>>(from, to, by);
  return narrow_to<cuda::Element<Dtype::f32>>(from, to, by);
}

void dequantise(const Tensor& from, const Tensor& to, float factor) {
  switch (from.dtype) {
    case Dtype::f8_e4m3fn:
      return dequantise_as<F8E4m3fn>(from, to, factor);
    case Dtype::f8_e5m2:
      return dequantise_as<F8E5m2>(from, to, factor);
    case Dtype::f16:
      return dequantise_as<F16>(from, to, factor);
    case Dtype::bf16:
      return dequantise_as<Bf16>(from, to, factor);
    default:
      return dequantise_from<std::uint32_t>(from, to, factor, [](std::uint32_t bits) { return float_from(bits); });
  }
}

}  // namespace tare::kernels::fp8
