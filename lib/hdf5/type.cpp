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

std::string_view integer_name(std::uint64_t size, bool is_signed) {
  constexpr auto names = std::to_array<std::array<std::string_view, 2>>(
      {{"uint8", "int8"}, {"uint16", "int16"}, {"uint32", "int32"}, {"uint64", "int64"}});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (size == std::uint64_t{1} << i) return names[i][is_signed ? 1 : 0];
  }
  return {};
}

std::string_view float_name(std::uint64_t size, Hdf5Fields& properties) {
  properties.skip(5);  // bit offset, precision, place of the exponent
  const std::uint64_t exponent_bits = properties.number(1);
  for (const FloatFormat& format : float_formats) {
    if (format.size == size && format.exponent_bits == exponent_bits) return format.name;
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
      return number(integer_name(size, (bits & 8) != 0), size, order);
    case 1:
      return number(float_name(size, fields), size, order);
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
