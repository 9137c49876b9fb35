#include "lib/container/stored_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

/// Elements whose first index moves fastest, in the order in which the last one does.
Bytes row_major(const StoredTensor& stored, const Bytes& column_major) {
  const std::size_t size = stored.tensor.type.size;
  const std::size_t count = column_major.size() / size;
  Bytes ordered(column_major.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(column_major.begin() + static_cast<std::ptrdiff_t>(stored.position(i) * size), size,
                ordered.begin() + static_cast<std::ptrdiff_t>(i * size));
  }
  return ordered;
}

}  // namespace

std::uint64_t StoredTensor::position(std::uint64_t index) const {
  if (!is_fortran) return index;
  std::uint64_t position = 0;
  std::uint64_t stride = tensor.count();
  for (std::size_t d = tensor.shape.size(); d-- > 0;) {
    const auto size = static_cast<std::uint64_t>(tensor.shape[d]);
    stride /= size;
    position += index % size * stride;
    index /= size;
  }
  return position;
}

NodeId StoredTensors::add(Tree& tree, Kind kind, StoredTensor stored) {
  Node node;
  tree.take_memory(sizeof(StoredTensor) + stored.tensor.shape.size() * sizeof(std::int64_t));
  put(node, kind, std::move(stored));
  return tree.add(node);
}

void StoredTensors::put(Node& node, Kind kind, StoredTensor stored) {
  node.kind = kind;
  node.store = RunIn::text;
  node.as.integer = static_cast<std::int64_t>(tensors_.size());
  tensors_.push_back(std::move(stored));
}

const StoredTensor& StoredTensors::at(NodeId node) const {
  const Node& found = (*tree_)[node];
  const bool is_one = found.kind == Kind::tensor || found.kind == Kind::array;
  if (is_one && static_cast<std::uint64_t>(found.as.integer) < tensors_.size()) return of(found);
  throw Error(Status::refused,
              "what is to be changed is no array; in a file of this kind elements of arrays can be, and nothing else");
}

void StoredTensors::install(const std::shared_ptr<StoredTensors>& tensors, Tree& tree) {
  tensors->tree_ = &tree;
  tree.install(tensors);
}

/// The histories of 1,024 of a model of 32,768 modules, in a state of tare's own; no framework's field is as large.
constexpr std::uint64_t most_bytes = 4 * limits::max_tensor_read_bytes;

Bytes StoredTensors::elements(NodeId node) const {
  const StoredTensor& stored = at(node);
  std::uint64_t all = stored.place.size;
  for (const Span& place : stored.more) all += place.size;
  if (all > most_bytes) {
    throw Error(Status::refused, fmt::format("{}: {} of {} bytes; the limit is {}", stored.source->name(),
                                             stored.tensor.type_text(), all, most_bytes));
  }
  if (all == 0) return {};
  Bytes bytes = stored.source->read(stored.place);
  for (const Span& place : stored.more) {
    const Bytes piece = stored.source->read(place);
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  turn_elements(bytes, stored.tensor.type.size, stored.order);
  return stored.is_fortran ? row_major(stored, bytes) : bytes;
}

void turn_elements(Bytes& elements, std::size_t size, std::endian order) {
  if (order == std::endian::little || size < 2) return;
  for (std::size_t i = 0; i + size <= elements.size(); i += size) {
    const auto element = elements.begin() + static_cast<std::ptrdiff_t>(i);
    std::reverse(element, element + static_cast<std::ptrdiff_t>(size));
  }
}

std::optional<std::uint64_t> stored_size(const Tensor& tensor) {
  if (tensor.type.size == 0) return std::nullopt;
  std::uint64_t size = tensor.type.size;
  for (const std::int64_t count : tensor.shape) {
    if (count < 0 || __builtin_mul_overflow(size, static_cast<std::uint64_t>(count), &size)) return std::nullopt;
  }
  return size;
}

}  // namespace tare
