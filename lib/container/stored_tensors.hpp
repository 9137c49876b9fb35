// Tensors and arrays whose elements lie in a file as they are, one after the other, at a place that is known.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

struct StoredTensor {
  Tensor tensor;
  std::shared_ptr<const Source> source = {};
  Span place = {};              ///< of all elements, in the source; or of the first ones
  std::vector<Span> more = {};  ///< of the others, in their order
  std::endian order = std::endian::little;
  bool is_fortran = false;  ///< the first index moves fastest

  /// Which of the stored elements has that index in row-major order. REQUIRES: there is one.
  [[nodiscard]] std::uint64_t position(std::uint64_t index) const;
};

class StoredTensors final : public TensorReader {
 public:
  /// A node of that kind (tensor or array) for it. REQUIRES: the places are as large as the elements.
  NodeId add(Tree& tree, Kind kind, StoredTensor stored);
  void reserve(std::size_t count) { tensors_.reserve(count); }
  /// Makes a node that is there stand for it.
  void put(Node& node, Kind kind, StoredTensor stored);
  /// Makes this the reader of `tree`, which must be the one of every `add`, and outlive this.
  static void install(const std::shared_ptr<StoredTensors>& tensors, Tree& tree);

  /// Which one the node stands for, in the order of `add`. REQUIRES: a node that `add` gave.
  [[nodiscard]] std::size_t index(NodeId node) const { return static_cast<std::size_t>((*tree_)[node].as.integer); }
  /// Throws `refused` where the node is none: what is to be changed may be any.
  [[nodiscard]] const StoredTensor& at(NodeId node) const;
  /// REQUIRES: a node that `add` gave.
  [[nodiscard]] const StoredTensor& of(const Node& node) const {
    return tensors_[static_cast<std::size_t>(node.as.integer)];
  }
  /// How many `matches`.
  template <typename Matches>
  [[nodiscard]] std::ptrdiff_t count_if(const Matches& matches) const {
    return std::count_if(tensors_.begin(), tensors_.end(), matches);
  }
  [[nodiscard]] Tensor describe(NodeId node) const override { return at(node).tensor; }
  /// Throws `refused` for more than 128 MiB.
  [[nodiscard]] Bytes elements(NodeId node) const override;

 private:
  std::vector<StoredTensor> tensors_;
  const Tree* tree_ = nullptr;
};

/// Turns little-endian elements of `size` bytes into such of that order, and these into little-endian ones.
void turn_elements(Bytes& elements, std::size_t size, std::endian order);

/// How many bytes `tensor`'s elements take; nothing where its shape makes no sense or its type is not known.
std::optional<std::uint64_t> stored_size(const Tensor& tensor);

}  // namespace tare
