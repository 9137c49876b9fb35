// Tensors of trees made by hand.
#pragma once

#include <map>
#include <string_view>

#include "tests/unit/dialect/made_tree.hpp"

namespace tare {

/// Describes tensors of zeros, of the type that each was made with; of one element, unless it was made with more.
class MadeTensors final : public TensorReader {
 public:
  NodeId add(MadeTree& made, std::string_view type, std::vector<std::int64_t> shape = {}) {
    Node tensor;
    tensor.kind = Kind::tensor;
    const NodeId node = made.tree.add(tensor);
    types_[node] = {type, std::move(shape)};
    return node;
  }
  [[nodiscard]] Tensor describe(NodeId node) const override {
    Tensor tensor;
    tensor.type = element_type(types_.at(node).first);
    tensor.shape = types_.at(node).second;
    return tensor;
  }
  [[nodiscard]] Bytes elements(NodeId node) const override {
    const Tensor tensor = describe(node);
    return Bytes(tensor.type.size * tensor.count());
  }

 private:
  std::map<NodeId, std::pair<std::string_view, std::vector<std::int64_t>>> types_;
};

}  // namespace tare
