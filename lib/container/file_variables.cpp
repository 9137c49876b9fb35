#include "lib/container/file_variables.hpp"

#include <bit>
#include <map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/element_patch.hpp"

namespace tare {
namespace {

/// A node's number of the variable is its integer.
class VariableTensors final : public TensorReader {
 public:
  VariableTensors(const Tree& tree, const std::vector<FileVariable>& variables) : tree_(tree), variables_(variables) {}

  [[nodiscard]] const FileVariable& variable(NodeId node) const {
    return variables_[static_cast<std::size_t>(tree_[node].as.integer)];
  }
  [[nodiscard]] Tensor describe(NodeId node) const override { return variable(node).tensor; }
  [[nodiscard]] Bytes elements(NodeId node) const override {
    const FileVariable& read = variable(node);
    if (read.elements.size > limits::max_tensor_read_bytes) {
      throw Error(Status::refused, read.source->name() + ": is too large to be read");
    }
    return read.source->read(read.elements);
  }

 private:
  const Tree& tree_;
  const std::vector<FileVariable>& variables_;
};

class FileVariables final : public Container {
 public:
  FileVariables(std::string_view format, std::vector<FileVariable> variables, std::vector<std::string> parts)
      : format_(format),
        variables_(std::move(variables)),
        parts_(std::move(parts)),
        tensors_(std::make_shared<VariableTensors>(tree_, variables_)) {
    tree_.install(tensors_);
    if (parts_.empty()) {
      tree_.root = add_variable(0);
      return;
    }
    std::vector<NodeId> items;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      items.push_back(tree_.add_side_text(Kind::string, variables_[i].key, {}));
      items.push_back(add_variable(i));
    }
    tree_.root = tree_.add_items(Kind::map, items, {});
  }

  [[nodiscard]] std::string_view format() const override { return format_; }
  [[nodiscard]] const Tree& tree() const override { return tree_; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] std::span<const std::string> parts() const override { return parts_; }
  [[nodiscard]] std::size_t part_of(NodeId node) const override { return tensors_->variable(node).part; }

  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    FileChange change;
    for (const NodeChange& wanted : changes) change.patches.push_back(patch(wanted));
    return change;
  }

  [[nodiscard]] std::vector<PartChange> change_parts(std::span<const NodeChange> changes) const override {
    std::map<std::size_t, FileChange> by_part;
    for (const NodeChange& wanted : changes) by_part[part_of(wanted.node)].patches.push_back(patch(wanted));
    std::vector<PartChange> parts;
    parts.reserve(by_part.size());
    for (auto& [part, change] : by_part) parts.push_back({part, std::move(change)});
    return parts;
  }

 private:
  NodeId add_variable(std::size_t number) {
    Node node;
    node.kind = Kind::tensor;
    node.as.integer = static_cast<std::int64_t>(number);
    return tree_.add(node);
  }

  [[nodiscard]] Patch patch(const NodeChange& wanted) const {
    const FileVariable& variable = tensors_->variable(wanted.node);
    return element_patch({variable.tensor, variable.source, variable.elements}, wanted);
  }

  std::string_view format_;
  std::vector<FileVariable> variables_;
  std::vector<std::string> parts_;
  Tree tree_;
  std::shared_ptr<VariableTensors> tensors_;
  std::vector<Finding> findings_;
};

}  // namespace

std::unique_ptr<Container> open_file_variables(std::string_view format, std::vector<FileVariable> variables,
                                               std::vector<std::string> parts) {
  return std::make_unique<FileVariables>(format, std::move(variables), std::move(parts));
}

}  // namespace tare
