#include "lib/attest/nested_bytes.hpp"

#include <vector>

#include "lib/attest/extra_state.hpp"
#include "lib/base/error.hpp"
#include "lib/container/nested.hpp"
#include "lib/dialect/walk.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

bool is_byte_tensor(const Tree& tree, NodeId node) {
  const Kind kind = tree.kind(node);
  if (kind != Kind::tensor && kind != Kind::array) return false;
  try {
    const Tensor tensor = tree.tensor(node);
    return tensor.type.name == "uint8" && tensor.shape.size() == 1;
  } catch (const Error&) {
    return false;
  }
}

class Search {
 public:
  Search(const Tree& tree, const std::function<void(const NestedBytes&)>& take)
      : tree_(tree), take_(take), shown_(tree.size()) {}

  void run() {
    look_at({"", false, false, false, tree_.root});
    TreeWalk walk(tree_);
    while (walk.next()) {
      const NodeId node = walk.step(walk.current()).node;
      if (tree_.kind(node) == Kind::map) look_at_map(node, walk);
      if (tree_.kind(node) == Kind::list || tree_.kind(node) == Kind::tuple) look_at_items(node, walk);
    }
    for (NodeId node = 0; node < tree_.size(); ++node) show({"", false, false, false, node});
  }

 private:
  void look_at_map(NodeId map, const TreeWalk& walk) {
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const NodeId value = pairs[i + 1];
      if (!may_hold(value)) continue;
      const std::string key = tree_.key_text(pairs[i]);
      look_at({key_path(walk.path(walk.current()), key), is_extra_state_key(key), false, false, value});
    }
  }

  /// A sharded object stands in a list of one, under its key.
  void look_at_items(NodeId list, const TreeWalk& walk) {
    const auto items = tree_.items(list);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!may_hold(items[i])) continue;
      const bool is_extra_state = items.size() == 1 && is_extra_state_key(walk.last_key(walk.current()));
      look_at({item_path(walk.path(walk.current()), i), is_extra_state, false, false, items[i]});
    }
  }

  [[nodiscard]] bool may_hold(NodeId value) const {
    const Kind kind = tree_.kind(value);
    return kind == Kind::bytes || kind == Kind::tensor || kind == Kind::array || kind == Kind::opaque;
  }

  void look_at(NestedBytes found) {
    if (tree_.kind(found.node) == Kind::opaque) {
      found.node = bytes_node(tree_, found.node);
      found.is_stream = true;
    }
    if (found.node != nowhere) show(found);
  }

  void show(NestedBytes found) {
    const bool holds = tree_.kind(found.node) == Kind::bytes || is_byte_tensor(tree_, found.node);
    found.is_again = shown_[found.node];
    if (!holds || (found.is_again && !found.is_extra_state)) return;
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
