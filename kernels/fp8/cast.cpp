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
  return each_block(from, by, [](std::uint64_t, const float*, std::uint64_t) {});
}

Noted quantise(const Tensor& from, const Tensor& to, const Factor& by) {
  if (to.dtype == Dtype::f8_e4m3fn) return quantise_to<F8E4m3fn>(from, to, by);
  if (to.dtype == Dtype::f8_e5m2) return quantise_to<F8E5m2>(from, to, by);
  return each_block(from, by, [&](std::uint64_t begin, const float* values, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) store(to, begin + i, narrow<F16>(values[i]));
  });
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
