// Tensors of trees made by hand.
#pragma once

#include <map>
#include <string_view>

#include "tests/unit/dialect/made_tree.hpp"

namespace tare {

/// Describes tensors of one element, which is 0, and of the type that each was made with.
class MadeTensors final : public TensorReader {
 public:
  NodeId add(MadeTree& made, std::string_view type) {
    Node tensor;
    tensor.kind = Kind::tensor;
    const NodeId node = made.tree.add(tensor);
    types_[node] = type;
    return node;
  }
  [[nodiscard]] Tensor describe(NodeId node) const override {
    Tensor tensor;
    tensor.type = element_type(types_.at(node));
    return tensor;
  }
  [[nodiscard]] Bytes elements(NodeId node) const override { return Bytes(describe(node).type.size); }

 private:
  std::map<NodeId, std::string_view> types_;
};

}  // namespace tare
