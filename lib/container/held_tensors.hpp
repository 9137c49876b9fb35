// Small tensors whose elements are read with the tree: those of containers that store every value by itself.
#pragma once

#include <map>
#include <utility>

#include "lib/container/container.hpp"

namespace tare {

class HeldTensors final : public TensorReader {
 public:
  /// `elements`: as TensorReader::elements gives them.
  void add(NodeId node, Tensor tensor, Bytes elements) { held_[node] = {std::move(tensor), std::move(elements)}; }

  [[nodiscard]] Tensor describe(NodeId node) const override { return held_.at(node).first; }
  [[nodiscard]] Bytes elements(NodeId node) const override { return held_.at(node).second; }

 private:
  std::map<NodeId, std::pair<Tensor, Bytes>> held_;
};

}  // namespace tare
