#include "lib/tree/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/dtype.hpp"
#include "lib/base/bytes.hpp"
#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/tree/value.hpp"

namespace tare {
namespace {

struct Codec {
  ElementType type;
  Value (*decode)(const std::byte*);
  /// false: the type cannot hold that number.
  bool (*encode)(double, std::byte*);
};

Value floating(double value) {
  return {value, "float"};
}

template <typename T>
Value decode_integer(const std::byte* bytes) {
  const auto value = load_le<T>(bytes);
  if (std::is_same_v<T, std::uint64_t> && value > static_cast<T>(std::numeric_limits<std::int64_t>::max())) {
    return {Integer{0, std::to_string(value)}, "int"};
  }
  return {Integer{static_cast<std::int64_t>(value), {}}, "int"};
}

template <typename T>
bool encode_integer(double number, std::byte* bytes) {
  // 2^63 and 2^64 are doubles, the largest int64 and uint64 are not: compare below the first that is too large.
  const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const double least = std::numeric_limits<T>::is_signed ? -limit : 0.0;
  if (!(number >= least && number < limit) || number != std::floor(number)) return false;
  store(bytes, static_cast<T>(number), std::endian::little);
  return true;
}

template <typename T>
Value decode_float(const std::byte* bytes) {
  return floating(load_le<T>(bytes));
}

template <typename T>
bool encode_float(double number, std::byte* bytes) {
  store(bytes, static_cast<T>(number), std::endian::little);
  return !std::isfinite(number) || std::isfinite(static_cast<T>(number));
}

template <class Format>
Value decode_narrow(const std::byte* bytes) {
  return floating(widen<Format>(load_le<typename Format::Bits>(bytes)));
}

template <class Format>
bool encode_narrow(double number, std::byte* bytes) {
  const auto pattern = narrow<Format>(static_cast<float>(number));
  store(bytes, pattern, std::endian::little);
  return !std::isfinite(number) || std::isfinite(widen<Format>(pattern));
}

// A power of two and nothing else: its exponent with 127 added. 0xff is NaN; there is no zero and no sign.
constexpr int e8m0_bias = 127;
constexpr std::byte e8m0_nan{0xff};

Value decode_e8m0(const std::byte* bytes) {
  if (*bytes == e8m0_nan) return floating(std::numeric_limits<double>::quiet_NaN());
  return floating(std::ldexp(1.0, std::to_integer<int>(*bytes) - e8m0_bias));
}

bool encode_e8m0(double number, std::byte* bytes) {
  *bytes = e8m0_nan;
  if (std::isnan(number)) return true;
  int exponent = 0;
  if (std::frexp(number, &exponent) != 0.5) return false;
  const int code = exponent - 1 + e8m0_bias;
  if (code < 0 || code >= std::to_integer<int>(e8m0_nan)) return false;
  *bytes = static_cast<std::byte>(code);
  return true;
}

Value decode_bool(const std::byte* bytes) {
  return {*bytes != std::byte{0}, "bool"};
}

bool encode_bool(double number, std::byte* bytes) {
  *bytes = number == 1.0 ? std::byte{1} : std::byte{0};
  return number == 0.0 || number == 1.0;
}

Value decode_complex(const std::byte*) {
  return {{}, "complex"};
}

bool encode_complex(double, std::byte*) {
  return false;
}

constexpr auto codecs = std::to_array<Codec>({
    {{"float32", 4}, decode_float<float>, encode_float<float>},
    {{"float64", 8}, decode_float<double>, encode_float<double>},
    {{"float16", 2}, decode_narrow<F16>, encode_narrow<F16>},
    {{"bfloat16", 2}, decode_narrow<Bf16>, encode_narrow<Bf16>},
    {{"float8_e4m3fn", 1}, decode_narrow<F8E4m3fn>, encode_narrow<F8E4m3fn>},
    {{"float8_e5m2", 1}, decode_narrow<F8E5m2>, encode_narrow<F8E5m2>},
    {{"float8_e8m0fnu", 1}, decode_e8m0, encode_e8m0},
    {{"int64", 8}, decode_integer<std::int64_t>, encode_integer<std::int64_t>},
    {{"int32", 4}, decode_integer<std::int32_t>, encode_integer<std::int32_t>},
    {{"int16", 2}, decode_integer<std::int16_t>, encode_integer<std::int16_t>},
    {{"int8", 1}, decode_integer<std::int8_t>, encode_integer<std::int8_t>},
    {{"uint64", 8}, decode_integer<std::uint64_t>, encode_integer<std::uint64_t>},
    {{"uint32", 4}, decode_integer<std::uint32_t>, encode_integer<std::uint32_t>},
    {{"uint16", 2}, decode_integer<std::uint16_t>, encode_integer<std::uint16_t>},
    {{"uint8", 1}, decode_integer<std::uint8_t>, encode_integer<std::uint8_t>},
    {{"bool", 1}, decode_bool, encode_bool},
    {{"complex64", 8}, decode_complex, encode_complex},
    {{"complex128", 16}, decode_complex, encode_complex},
});

const Codec* codec_of(std::string_view name) {
  const auto known = std::find_if(codecs.begin(), codecs.end(), [&](const Codec& c) { return c.type.name == name; });
  return known == codecs.end() ? nullptr : &*known;
}

}  // namespace

ElementType element_type(std::string_view name) {
  const Codec* codec = codec_of(name);
  return codec == nullptr ? ElementType{} : codec->type;
}

Value element_value(ElementType type, const std::byte* little_endian) {
  return codec_of(type.name)->decode(little_endian);
}

Bytes element_bytes(ElementType type, double number, std::endian order) {
  Bytes bytes(type.size);
  const Codec* codec = codec_of(type.name);
  if (codec == nullptr || !codec->encode(number, bytes.data())) {
    const bool is_power = codec != nullptr && codec->encode == encode_e8m0;
    throw Error(Status::refused, fmt::format("{} cannot hold {}", type.name, float_text(number)),
                is_power ? "it holds the powers of two from 2^-127 to 2^127" : "");
  }
  if (order == std::endian::big) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

std::uint64_t Tensor::count() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(product, size, &product)) {
      throw Error(Status::corrupt, fmt::format("a tensor of shape [{}] cannot be", fmt::join(shape, ", ")));
    }
  }
  return static_cast<std::uint64_t>(product);
}

std::string Tensor::type_text() const {
  if (is_scalar) return fmt::format("{}:{}", library, type.name);
  return fmt::format("{}:{}[{}]", library, type.name, fmt::join(shape, ","));
}

}  // namespace tare
