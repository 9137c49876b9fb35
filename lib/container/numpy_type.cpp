#include "lib/container/numpy_type.hpp"

#include <array>

namespace tare {
namespace {

struct Code {
  std::string_view code, element;
};

constexpr auto codes = std::to_array<Code>({
    {"f4", "float32"},
    {"f8", "float64"},
    {"f2", "float16"},
    {"i8", "int64"},
    {"i4", "int32"},
    {"i2", "int16"},
    {"i1", "int8"},
    {"u8", "uint64"},
    {"u4", "uint32"},
    {"u2", "uint16"},
    {"u1", "uint8"},
    {"b1", "bool"},
    {"c8", "complex64"},
    {"c16", "complex128"},
});

}  // namespace

ElementType numpy_type(std::string_view code) {
  if (!code.empty() && std::string_view("<>|=").find(code.front()) != std::string_view::npos) code.remove_prefix(1);
  for (const Code& known : codes) {
    if (known.code == code) return element_type(known.element);
  }
  return {};
}

std::endian numpy_order(std::string_view code) {
  return code.starts_with('>') ? std::endian::big : std::endian::little;
}

}  // namespace tare
