// Fields of FP8 state made by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/dialect/found.hpp"

namespace tare::test {

/// A float32 tensor; of one dimension, unless `shape` says otherwise.
inline Field floats(std::string name, const std::vector<float>& values, std::vector<std::int64_t> shape = {}) {
  Bytes bytes;
  for (const float value : values) append_le(bytes, value);
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  Field field;
  field.name = std::move(name);
  field.value = {PackedArray{element_type("float32"), std::move(shape), std::move(bytes)}, "tensor:float32"};
  return field;
}

}  // namespace tare::test
