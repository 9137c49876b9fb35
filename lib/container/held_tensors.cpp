#include "lib/container/held_tensors.hpp"

#include <fmt/format.h>

#include <bit>

#include "lib/base/error.hpp"
#include "lib/container/element_patch.hpp"

namespace tare {
Bytes changed_element(const Tensor& tensor, const NodeChange& change) {
  if (tensor.count() != 1 || tensor.type.size == 0) {
    throw Error(Status::refused, fmt::format("{}: {} is no single number", change.meaning, tensor.type_text()));
  }
  return element_bytes(tensor.type, new_number(change), std::endian::little);
}

}  // namespace tare
