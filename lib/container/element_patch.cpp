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

/// The bytes of all elements of `stored`, as `change` makes them.
Bytes changed(const StoredTensor& stored, Bytes bytes, const NodeChange& change) {
  for (const NewElement& element : elements_of(change, stored.tensor)) {
    const Bytes value = element_bytes(stored.tensor.type, element, stored.order);
    for_each_index(element, [&](std::uint64_t index) {
      std::copy(value.begin(), value.end(), bytes.begin() + at(stored.position(index) * value.size()));
    });
  }
  return bytes;
}

}  // namespace

double new_number(const NodeChange& change) {
  return as_double(number_of(change));
}

Bytes changed_elements(const Tensor& tensor, Bytes stored, std::endian order, const NodeChange& change) {
  return changed(StoredTensor{.tensor = tensor, .order = order}, std::move(stored), change);
}

std::vector<Patch> element_patches(const StoredTensor& stored, const NodeChange& change) {
  const Tensor& tensor = stored.tensor;
  std::vector<Span> places = {stored.place};
  places.insert(places.end(), stored.more.begin(), stored.more.end());
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
    const Bytes piece = stored.source->read(place);
    all.insert(all.end(), piece.begin(), piece.end());
  }
  const SharedBytes before = std::move(all);
  const SharedBytes after = changed(stored, Bytes(before.begin(), before.end()), change);
  std::vector<Patch> patches;
  std::size_t begin = 0;
  for (const Span place : places) {
    patches.push_back({place.offset, before.part(begin, place.size), after.part(begin, place.size), change.meaning});
    begin += place.size;
  }
  return patches;
}

Patch element_patch(const StoredTensor& stored, const NodeChange& change) {
  return std::move(element_patches(stored, change).front());
}

}  // namespace tare
