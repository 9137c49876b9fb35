// A tensor or array as a tree describes it. Counts are in elements, not bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"

namespace tare {

struct Value;

/// How an element is stored. Names are torch's and numpy's: float32, bfloat16, int64, bool ...
struct ElementType {
  std::string_view name;   ///< static
  std::uint32_t size = 0;  ///< bytes; 0: unknown
};

/// The type of that name (float32, int64, float8_e4m3fn ...), or one of size 0.
ElementType element_type(std::string_view name);

/// The number that `little_endian` bytes stand for. Integers stay integers, floats widen exactly.
/// REQUIRES: a known type, and its bytes. One that has no number (complex) comes with its name alone.
Value element_value(ElementType type, const std::byte* little_endian);

/// The bytes that store `number`, rounded to nearest even where a float type asks for it. Throws `refused` where the
/// type cannot hold it: a fraction in an integer, a finite number beyond the type's largest.
Bytes element_bytes(ElementType type, double number, std::endian order);

struct Tensor {
  std::string_view library;  ///< "tensor" or "numpy", as types are spelled
  ElementType type;
  bool is_scalar = false;  ///< a numpy scalar, which is no array
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;         ///< of the first element in its storage
  std::string_view storage;        ///< the storage's key; empty where the data stands in the text
  std::int64_t storage_count = 0;  ///< elements of the storage
  std::string_view device;         ///< "cpu", "cuda:0" ... as the file tags it; empty for arrays

  /// Product of the shape. Throws `corrupt` on a negative size or one beyond int64.
  [[nodiscard]] std::uint64_t count() const;
  /// "tensor:float32[1]", "numpy:float64", "numpy:float32[2,3]"
  [[nodiscard]] std::string type_text() const;
};

}  // namespace tare
