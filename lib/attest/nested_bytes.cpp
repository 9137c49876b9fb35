#include "lib/attest/nested_bytes.hpp"

#include <optional>
#include <vector>

#include "lib/attest/extra_state.hpp"
#include "lib/base/error.hpp"
#include "lib/container/nested.hpp"
#include "lib/dialect/walk.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

/// Whether a tensor is a row of bytes, as what is packed into one is written; nothing where it is no tensor, or cannot
/// be described.
std::optional<bool> is_row_of_bytes(const Tree& tree, NodeId node) {
  const Kind kind = tree.kind(node);
  if (kind != Kind::tensor && kind != Kind::array) return std::nullopt;
  try {
    const Tensor tensor = tree.tensor(node);
    return tensor.type.name == "uint8" && tensor.shape.size() == 1;
  } catch (const Error&) {
    return std::nullopt;
  }
}

class Search {
 public:
  Search(const Tree& tree, const std::function<void(const NestedBytes&)>& take)
      : tree_(tree), take_(take), shown_(tree.size()) {}

  void run() {
    look_at({.node = tree_.root});
    TreeWalk walk(tree_);
    while (walk.next()) {
      const NodeId node = walk.step(walk.current()).node;
      if (tree_.kind(node) == Kind::map) look_at_map(node, walk);
      if (tree_.kind(node) == Kind::list || tree_.kind(node) == Kind::tuple) look_at_items(node, walk);
    }
    for (NodeId node = 0; node < tree_.size(); ++node) show({.node = node});
  }

 private:
  void look_at_map(NodeId map, const TreeWalk& walk) {
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const NodeId value = pairs[i + 1];
      if (!may_hold(value)) continue;
      const std::string key = tree_.key_text(pairs[i]);
      look_at(
          {.path = key_path(walk.path(walk.current()), key), .is_extra_state = is_extra_state_key(key), .node = value});
    }
  }

  /// A sharded object stands in a list of one, under its key.
  void look_at_items(NodeId list, const TreeWalk& walk) {
    const auto items = tree_.items(list);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!may_hold(items[i])) continue;
      const bool is_extra_state = items.size() == 1 && is_extra_state_key(walk.last_key(walk.current()));
      look_at({.path = item_path(walk.path(walk.current()), i), .is_extra_state = is_extra_state, .node = items[i]});
    }
  }

  [[nodiscard]] bool may_hold(NodeId value) const {
    const Kind kind = tree_.kind(value);
    return kind == Kind::bytes || kind == Kind::tensor || kind == Kind::array || kind == Kind::opaque;
  }

  void look_at(NestedBytes found) {
    if (tree_.kind(found.node) == Kind::opaque) {
      const NodeId bytes = bytes_node(tree_, found.node);
      found.is_computed = bytes == nowhere && found.is_extra_state;
      if (found.is_computed) return take_(found);
      found.node = bytes;
      found.is_stream = true;
    }
    if (found.node != nowhere) show(found);
  }

  void show(NestedBytes found) {
    const std::optional<bool> is_row = is_row_of_bytes(tree_, found.node);
    const bool is_bytes = tree_.kind(found.node) == Kind::bytes || is_row == true;
    if (!is_bytes && !(found.is_extra_state && is_row)) return;
    found.is_other_tensor = !is_bytes;
    found.is_again = shown_[found.node];
    if (found.is_again && !found.is_extra_state) return;
    shown_[found.node] = true;
    take_(found);
  }

  const Tree& tree_;
  const std::function<void(const NestedBytes&)>& take_;
  std::vector<bool> shown_;
};

}  // namespace

void each_nested_bytes(const Tree& tree, const std::function<void(const NestedBytes&)>& take) {
  Search(tree, take).run();
}

}  // namespace tare
