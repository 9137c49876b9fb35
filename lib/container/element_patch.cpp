#include "lib/container/element_patch.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"

namespace tare {

double new_number(const NodeChange& change) {
  return as_double(number_of(change));
}

Patch element_patch(const Source& source, Span place, const Tensor& tensor, std::endian order,
                    const NodeChange& change) {
  if (tensor.type.size == 0 || tensor.count() != 1 || place.size != tensor.type.size) {
    throw Error(Status::refused, fmt::format("{}: {} is no single number", change.meaning, tensor.type_text()));
  }
  return {place.offset, source.read(place), element_bytes(tensor.type, new_number(change), order), change.meaning};
}

}  // namespace tare
