// A value read out of a tree, with its kind as the framework knows it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/tree/integer.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

struct Value;
using ValueList = std::vector<Value>;

/// The elements of a tensor or array as they are stored, little-endian, row-major. Copies share the bytes.
struct PackedArray {
  /// In one piece of memory, so that a Value, of which there are millions, is no larger for it.
  struct Elements {
    std::vector<std::int64_t> shape;
    Bytes bytes;
    friend bool operator==(const Elements&, const Elements&) = default;
  };

  ElementType type;
  std::shared_ptr<const Elements> elements;

  PackedArray(ElementType element, std::vector<std::int64_t> shape, Bytes bytes)
      : type(element), elements(std::make_shared<const Elements>(Elements{std::move(shape), std::move(bytes)})) {}

  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return elements->shape; }
  [[nodiscard]] const Bytes& bytes() const { return elements->bytes; }
  [[nodiscard]] std::uint64_t count() const { return bytes().size() / type.size; }
  /// Whether the elements are numbers: complex ones are none.
  [[nodiscard]] bool has_numbers() const;
  /// REQUIRES: index < count().
  [[nodiscard]] Value at(std::uint64_t index) const;
  [[nodiscard]] double number_at(std::uint64_t index) const;  ///< REQUIRES: has_numbers()
};

/// `type` is a name of the list in lib/report/README.md: int, float, bool, str, None, tensor:float32[1],
/// tensor:float32[], numpy:float64, torch.dtype, object:module.Class, list, dict ...
/// A tensor's data is the element itself where the shape is [], a (nested) list of one, or a packed array.
/// std::monostate: None, or a value that is shown by its type alone.
struct Value {
  std::variant<std::monostate, bool, Integer, double, std::string, ValueList, PackedArray> data;
  std::string type;

  /// The number behind it: a bool, int or float, or the only element of a one-element list. NaN is a number.
  [[nodiscard]] const Value* number() const;
  [[nodiscard]] double as_double() const;  ///< REQUIRES: number() is not null
};

/// Of the elements of a tensor, an array or a numpy scalar; size 0 for Python's own types.
ElementType element_type_of(const Value& value);

/// Same type and same value, bit for bit in meaning: nan equals nan, int 65536 is not float 65536.0, 0.0 is not -0.0.
bool same(const Value& a, const Value& b);

}  // namespace tare
