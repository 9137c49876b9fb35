// A tensor or array as a tree describes it. Counts are in elements, not bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tare {

/// How an element is stored. Names are torch's and numpy's: float32, bfloat16, int64, bool ...
struct ElementType {
  std::string name;
  std::uint32_t size = 0;  ///< bytes
};

/// The known type of that name, or one of size 0.
ElementType element_type(std::string_view name);

struct Tensor {
  ElementType type;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;     ///< of the first element in its storage
  std::string storage;         ///< the storage's key in the file; empty where the data stands in the text
  std::int64_t storage_count = 0;
  std::string device;          ///< "cpu", "cuda:0" ... as the file tags it; empty for arrays

  [[nodiscard]] std::uint64_t count() const;  ///< product of the shape
};

/// Bytes of elements -> numbers. Integers stay integers, every float type widens exactly to double.
struct Value;
Value element_value(const ElementType& type, const std::byte* little_endian);

/// "tensor:float32[1]", "numpy:float64", "numpy:float32[2,3]"
std::string type_text(std::string_view library, const Tensor& tensor);

}  // namespace tare
