// A value read out of a tree, with its kind as the framework knows it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "lib/tree/integer.hpp"

namespace tare {

struct Value;
using ValueList = std::vector<Value>;

/// `type` is a name of the list in lib/report/README.md: int, float, bool, str, None, tensor:float32[1],
/// tensor:float32[], numpy:float64, torch.dtype, object:module.Class, list, dict ...
/// A tensor's data is a (nested) list, or the element itself where the shape is [].
/// std::monostate: None, or a value that is shown by its type alone.
struct Value {
  std::variant<std::monostate, bool, Integer, double, std::string, ValueList> data;
  std::string type;

  /// The number behind it: a bool, int or float, or the only element of a one-element list. NaN is a number.
  [[nodiscard]] const Value* number() const;
  [[nodiscard]] double as_double() const;  ///< REQUIRES: number() is not null
};

/// Same type and same value, bit for bit in meaning: nan equals nan, int 65536 is not float 65536.0, 0.0 is not -0.0.
bool same(const Value& a, const Value& b);

}  // namespace tare
