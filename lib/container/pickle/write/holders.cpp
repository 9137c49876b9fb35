#include "lib/container/pickle/write/holders.hpp"

#include "lib/base/error.hpp"

namespace tare {
namespace {

/// Of all nodes in their order, which is quick; nothing leads to some of them.
Slots of_all(const Tree& tree) {
  Slots slots(tree);
  slots.hold(tree.root);
  for (NodeId node = 0; node < tree.size(); ++node) {
    for (const auto children : {tree.items(node), tree.parts(node)}) {
      for (const NodeId child : children) {
        if (child != nowhere) slots.hold(child);
      }
    }
  }
  return slots;
}

/// Of what the root leads to. No recursion; every node is looked at once.
Slots of_reached(const Tree& tree) {
  Slots slots(tree);
  std::vector<NodeId> open{tree.root};
  slots.hold(tree.root);
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    for (const auto children : {tree.items(node), tree.parts(node)}) {
      for (const NodeId child : children) {
        if (child != nowhere && slots.hold(child)) open.push_back(child);
      }
    }
  }
  return slots;
}

}  // namespace

Holders::Holders(const Tree& tree) : tree_(tree), all_(of_all(tree)) {}

template <typename What>
void Holders::require(What what, const NodeChange& change) const {
  if (!all_.holds_again(what)) return;
  if (!reached_) reached_.emplace(of_reached(tree_));
  if (!reached_->holds_again(what)) return;
  throw Error(Status::refused, change.meaning + ": another place of the file shares that very value",
              "changing it here would change it there: separate them in the framework first");
}

void Holders::require_one_at(Span place, const NodeChange& change) const {
  require(place, change);
}

void Holders::require_one(NodeId node, const NodeChange& change) const {
  require(node, change);
}

}  // namespace tare
