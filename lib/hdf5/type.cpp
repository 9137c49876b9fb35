#include "lib/hdf5/type.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "lib/hdf5/file.hpp"

namespace tare {
namespace {

constexpr std::string_view what = "datatype";

struct FloatFormat {
  std::uint64_t size, exponent_bits;
  std::string_view name;
};

constexpr auto float_formats = std::to_array<FloatFormat>({
    {8, 11, "float64"},
    {4, 8, "float32"},
    {2, 5, "float16"},
    {2, 8, "bfloat16"},
});

/// Names of the classes of elements, by number.
constexpr auto class_names = std::to_array<std::string_view>({
    "integer",
    "floating point",
    "time",
    "string",
    "bit field",
    "opaque",
    "compound",
    "reference",
    "enumeration",
    "variable-length",
    "array",
    "complex",
});

/// Where the parts of a number stand in its bits. Other places than these are of formats that no framework has.
struct Places {
  std::uint64_t sign, offset, precision, exponent, exponent_bits, mantissa, mantissa_bits, bias;
  bool operator==(const Places&) const = default;
};

/// Those of IEEE 754, and of bfloat16.
Places usual_places(const FloatFormat& format) {
  const std::uint64_t bits = 8 * format.size;
  const std::uint64_t mantissa_bits = bits - 1 - format.exponent_bits;
  const std::uint64_t bias = (std::uint64_t{1} << (format.exponent_bits - 1)) - 1;
  return {bits - 1, 0, bits, mantissa_bits, format.exponent_bits, 0, mantissa_bits, bias};
}

Places read_places(std::uint64_t bits, Hdf5Fields& properties) {
  Places places{};
  places.sign = bits >> 8 & 0xff;
  places.offset = properties.number(2);
  places.precision = properties.number(2);
  for (std::uint64_t* place : {&places.exponent, &places.exponent_bits, &places.mantissa, &places.mantissa_bits}) {
    *place = properties.number(1);
  }
  places.bias = properties.number(4);
  return places;
}

std::string_view integer_name(std::uint64_t size, std::uint64_t bits, Hdf5Fields& properties) {
  constexpr auto names = std::to_array<std::array<std::string_view, 2>>(
      {{"uint8", "int8"}, {"uint16", "int16"}, {"uint32", "int32"}, {"uint64", "int64"}});
  constexpr std::uint64_t is_signed = 8;
  const std::uint64_t offset = properties.number(2);
  const std::uint64_t precision = properties.number(2);
  if (offset != 0 || precision != 8 * size) return {};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (size == std::uint64_t{1} << i) return names[i][(bits & is_signed) != 0 ? 1 : 0];
  }
  return {};
}

std::string_view float_name(std::uint64_t size, std::uint64_t bits, Hdf5Fields& properties) {
  constexpr std::uint64_t first_bit_and_order = 0x70;  // bits 4 and 5: what is left out of a mantissa; 6: VAX' order
  constexpr std::uint64_t is_implied = 0x20;
  const Places places = read_places(bits, properties);
  if ((bits & first_bit_and_order) != is_implied) return {};
  for (const FloatFormat& format : float_formats) {
    if (format.size == size && places == usual_places(format)) return format.name;
  }
  return {};
}

/// numpy's bool: an enumeration of FALSE and TRUE in one byte.
bool is_bool(std::uint64_t size, std::uint64_t members, ByteView properties) {
  return size == 1 && members == 2 && as_text(properties).find("FALSE") != std::string_view::npos;
}

Hdf5Type number(std::string_view name, std::uint64_t size, std::endian order) {
  const ElementType element = element_type(name);
  return {element.size == 0 ? Hdf5Type::Form::other : Hdf5Type::Form::number, element, order, size, "odd number"};
}

struct Sizes {
  std::vector<std::uint64_t> now, largest;
};

Sizes read_sizes(ByteView message) {
  constexpr std::uint64_t max_dimensions = 32;
  constexpr std::uint64_t null_space = 2;
  constexpr std::uint64_t says_largest = 1;
  Hdf5Fields fields(message, "dataspace");
  const std::uint64_t version = fields.number(1);
  const std::uint64_t count = fields.number(1);
  const std::uint64_t flags = fields.number(1);
  const std::uint64_t type = fields.number(1);
  if (version == 1) fields.skip(4);
  if (version == 2 && type == null_space) throw Hdf5NotRead{"it has no elements, not even a shape"};
  if (version < 1 || version > 2 || count > max_dimensions) throw Hdf5NotRead{"its dataspace makes no sense"};
  Sizes sizes;
  for (std::uint64_t i = 0; i < count; ++i) sizes.now.push_back(fields.length());
  sizes.largest = sizes.now;
  if ((flags & says_largest) == 0) return sizes;
  for (std::uint64_t& size : sizes.largest) size = fields.length();
  return sizes;
}

}  // namespace

Hdf5Type read_hdf5_type(ByteView message) {
  Hdf5Fields fields(message, what);
  const std::uint64_t class_number = fields.number(1) & 15;
  const std::uint64_t bits = fields.number(3);
  const std::uint64_t size = fields.number(4);
  const std::endian order = (bits & 1) != 0 ? std::endian::big : std::endian::little;
  switch (class_number) {
    case 0:
      return number(integer_name(size, bits, fields), size, order);
    case 1:
      return number(float_name(size, bits, fields), size, order);
    case 3:
      return {Hdf5Type::Form::text, {}, order, size, "string"};
    case 5:
      return {Hdf5Type::Form::blob, {}, std::endian::little, size, "opaque"};
    case 8:
      if (is_bool(size, bits & 0xffff, fields.rest())) return number("bool", size, std::endian::little);
      break;
    case 9:
      if ((bits & 15) == 1) return {Hdf5Type::Form::variable_text, {}, order, size, "variable-length string"};
      break;
    default:
      break;
  }
  const std::string_view name = class_number < class_names.size() ? class_names[class_number] : "unknown";
  return {Hdf5Type::Form::other, {}, order, size, name};
}

std::vector<std::int64_t> read_hdf5_shape(ByteView message) {
  std::vector<std::int64_t> shape;
  for (const std::uint64_t size : read_sizes(message).now) {
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw Hdf5NotRead{fmt::format("a dimension of {} elements", size)};
    }
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return shape;
}

std::vector<std::uint64_t> read_hdf5_largest_shape(ByteView message) {
  return read_sizes(message).largest;
}

}  // namespace tare
