#include "lib/container/element_patch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {

namespace {

std::ptrdiff_t at(std::size_t index) {
  return static_cast<std::ptrdiff_t>(index);
}

}  // namespace

double new_number(const NodeChange& change) {
  return as_double(number_of(change));
}

Bytes changed_elements(const Tensor& tensor, Bytes stored, std::endian order, const NodeChange& change) {
  for (const NewElement& element : elements_of(change, tensor)) {
    const Bytes bytes = element_bytes(tensor.type, element.value, order);
    for_each_index(element, [&](std::uint64_t index) {
      std::copy(bytes.begin(), bytes.end(), stored.begin() + at(index * bytes.size()));
    });
  }
  return stored;
}

std::vector<Patch> element_patches(const Source& source, std::span<const Span> places, const Tensor& tensor,
                                   std::endian order, const NodeChange& change) {
  std::uint64_t size = 0;
  for (const Span place : places) size += place.size;
  const bool is_whole = tensor.type.size != 0 && size % tensor.type.size == 0 &&
                        size / tensor.type.size == tensor.count() && size <= limits::max_tensor_read_bytes;
  if (!is_whole) {
    throw Error(Status::refused,
                fmt::format("{}: {} is not stored as one piece of numbers", change.meaning, tensor.type_text()));
  }
  Bytes all;
  for (const Span place : places) {
    const Bytes piece = source.read(place);
    all.insert(all.end(), piece.begin(), piece.end());
  }
  const SharedBytes stored = std::move(all);
  const SharedBytes changed = changed_elements(tensor, Bytes(stored.begin(), stored.end()), order, change);
  std::vector<Patch> patches;
  std::size_t begin = 0;
  for (const Span place : places) {
    patches.push_back({place.offset, stored.part(begin, place.size), changed.part(begin, place.size), change.meaning});
    begin += place.size;
  }
  return patches;
}

Patch element_patch(const Source& source, Span place, const Tensor& tensor, std::endian order,
                    const NodeChange& change) {
  return std::move(element_patches(source, {&place, 1}, tensor, order, change).front());
}

}  // namespace tare
