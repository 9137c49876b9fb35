#include "lib/container/element_patch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {

double new_number(const NodeChange& change) {
  return as_double(number_of(change));
}

Bytes changed_elements(const Tensor& tensor, Bytes stored, std::endian order, const NodeChange& change) {
  for (const NewElement& element : elements_of(change, tensor)) {
    const Bytes bytes = element_bytes(tensor.type, element.value, order);
    std::copy(bytes.begin(), bytes.end(), stored.begin() + static_cast<std::ptrdiff_t>(element.index * bytes.size()));
  }
  return stored;
}

Patch element_patch(const Source& source, Span place, const Tensor& tensor, std::endian order,
                    const NodeChange& change) {
  const bool is_whole = tensor.type.size != 0 && place.size % tensor.type.size == 0 &&
                        place.size / tensor.type.size == tensor.count() && place.size <= limits::max_tensor_read_bytes;
  if (!is_whole) {
    throw Error(Status::refused,
                fmt::format("{}: {} is not stored as one piece of numbers", change.meaning, tensor.type_text()));
  }
  Bytes before = source.read(place);
  Bytes after = changed_elements(tensor, before, order, change);
  return {place.offset, std::move(before), std::move(after), change.meaning};
}

}  // namespace tare
