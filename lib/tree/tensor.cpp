#include "lib/tree/tensor.hpp"

#include <fmt/format.h>

#include <array>

#include "kernels/dtype.hpp"
#include "lib/base/bytes.hpp"
#include "lib/base/error.hpp"
#include "lib/tree/value.hpp"

namespace tare {
namespace {

Value floating(double value) {
  return {value, "float"};
}

template <typename T>
Value integer_of(const std::byte* bytes) {
  return {Integer{static_cast<std::int64_t>(load_le<T>(bytes)), {}}, "int"};
}

Value uint64_of(const std::byte* bytes) {
  const auto value = load_le<std::uint64_t>(bytes);
  if (value >> 63 != 0) return {Integer{0, std::to_string(value)}, "int"};
  return {Integer{static_cast<std::int64_t>(value), {}}, "int"};
}

struct Decoder {
  ElementType type;
  Value (*decode)(const std::byte*);
};

constexpr auto decoders = std::to_array<Decoder>({
    {{"float32", 4}, [](const std::byte* b) { return floating(load_le<float>(b)); }},
    {{"float64", 8}, [](const std::byte* b) { return floating(load_le<double>(b)); }},
    {{"float16", 2}, [](const std::byte* b) { return floating(f16_to_f32(load_le<std::uint16_t>(b))); }},
    {{"bfloat16", 2}, [](const std::byte* b) { return floating(bf16_to_f32(load_le<std::uint16_t>(b))); }},
    {{"float8_e4m3fn", 1}, [](const std::byte* b) { return floating(f8e4m3fn_to_f32(load_le<std::uint8_t>(b))); }},
    {{"float8_e5m2", 1}, [](const std::byte* b) { return floating(f8e5m2_to_f32(load_le<std::uint8_t>(b))); }},
    {{"int64", 8}, integer_of<std::int64_t>},
    {{"int32", 4}, integer_of<std::int32_t>},
    {{"int16", 2}, integer_of<std::int16_t>},
    {{"int8", 1}, integer_of<std::int8_t>},
    {{"uint64", 8}, uint64_of},
    {{"uint32", 4}, integer_of<std::uint32_t>},
    {{"uint16", 2}, integer_of<std::uint16_t>},
    {{"uint8", 1}, integer_of<std::uint8_t>},
    {{"bool", 1},
     [](const std::byte* b) {
       return Value{*b != std::byte{0}, "bool"};
     }},
    {{"complex64", 8},
     [](const std::byte*) {
       return Value{{}, "complex"};
     }},
    {{"complex128", 16},
     [](const std::byte*) {
       return Value{{}, "complex"};
     }},
});

}  // namespace

ElementType element_type(std::string_view name) {
  for (const Decoder& decoder : decoders) {
    if (decoder.type.name == name) return decoder.type;
  }
  return {};
}

Value element_value(ElementType type, const std::byte* little_endian) {
  for (const Decoder& decoder : decoders) {
    if (decoder.type.name == type.name) return decoder.decode(little_endian);
  }
  return {};
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
