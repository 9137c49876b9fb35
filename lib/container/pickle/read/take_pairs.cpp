// Dicts whose pairs somebody takes as they are read: what was made for a batch of them is used again for the next one.
#include <algorithm>

#include "lib/container/pickle/read/machine.hpp"

namespace tare {
namespace {

/// Nodes that take each other's place: they have the room for it. Beyond the last: none does.
std::size_t shape(Kind kind, std::size_t items) {
  enum : std::size_t { scalars, objects, maps, lists, tuples, none = tuples + 4 };
  switch (kind) {
    case Kind::none:
    case Kind::boolean:
    case Kind::integer:
    case Kind::floating:
      return scalars;
    case Kind::opaque:
      return objects;
    case Kind::map:
      return maps;
    case Kind::list:
      return lists;
    case Kind::tuple:
      return std::min<std::size_t>(tuples + items, none);
    default:
      return none;
  }
}

}  // namespace

void PickleMachine::note_new(NodeId id) {
  if (id >= is_new_.size()) is_new_.resize(std::max<std::size_t>(id + 1, 2 * is_new_.size()));
  is_new_[id] = true;
  make_room(new_);
  new_.push_back(id);
}

NodeId PickleMachine::add_new(const Node& node) {
  const std::size_t as = shape(node.kind, 0);
  NodeId id = nowhere;
  if (as < spare_.size() && !spare_[as].empty()) {
    id = spare_[as].back();
    spare_[as].pop_back();
    tree_.edit(id) = node;
  } else {
    id = tree_.add(node);
  }
  note_new(id);
  return id;
}

NodeId PickleMachine::add_new_items(Kind kind, std::span<const NodeId> items, Span span) {
  const std::size_t as = shape(kind, items.size());
  NodeId id = nowhere;
  if (as < spare_.size() && !spare_[as].empty()) {
    id = spare_[as].back();
    spare_[as].pop_back();
    Node node;
    node.begin = static_cast<std::uint32_t>(span.offset);
    node.size = node_size(span.size);
    node.kind = kind;
    node.store = RunIn::items;
    node.as.run = {tree_[id].as.run.first, 0};
    tree_.edit(id) = node;
    tree_.append_items(id, items);
  } else {
    id = tree_.add_items(kind, items, span);
  }
  note_new(id);
  return id;
}

/// What was made before stays.
void PickleMachine::begin_pairs() {
  for (const NodeId id : new_) is_new_[id] = false;
  new_.clear();
  slots_before_pairs_ = memo_size_;
  fills_older_ = false;
}

/// In the order in which they were made, each once.
bool PickleMachine::are_new_objects(std::span<const NodeId> pairs) const {
  auto at = new_.begin();
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (tree_.kind(pairs[i]) != Kind::opaque) continue;
    at = std::find(at, new_.end(), pairs[i]);
    if (at++ == new_.end()) return false;
  }
  return true;
}

bool PickleMachine::hand_out(const PickleOp& op, std::span<const NodeId> pairs) {
  if (taker_ == nullptr || marks_.size() != 1 || pairs.size() % 2 != 0 || stack_.size() < marks_.back() + 2u) {
    return false;
  }
  const NodeId map = stack_.back();
  const NodeId name = stack_[stack_.size() - 2];
  if (tree_.kind(map) != Kind::map || tree_.kind(name) != Kind::string) return false;
  for (std::size_t i = 0; i < pairs.size(); i += 2) require_hashable(op, pairs[i]);
  if (!taker_->take(tree_, name, map, pairs)) return false;
  if (!are_new_objects(pairs)) throw NeedsEveryOpcode();
  return true;
}

/// Text may be fetched again, and stays. A batch that names a class stays whole, which may be fetched, too: the first
/// one does. So does one of which something older has got a part.
void PickleMachine::forget_pairs() {
  const auto is_name = [&](NodeId id) { return tree_.kind(id) == Kind::name; };
  if (fills_older_ || std::any_of(new_.begin(), new_.end(), is_name)) return;
  const auto goes = [&](NodeId id) { return is_new(id) && tree_.kind(id) != Kind::string; };
  for (std::uint64_t slot = slots_before_pairs_; slot < memo_size_; ++slot) {
    if (goes(memo_[slot])) memo_[slot] = unread;
  }
  for (const NodeId id : new_) {
    if (!goes(id)) continue;
    const std::size_t as = shape(tree_.kind(id), tree_.items(id).size());
    if (as < spare_.size()) spare_[as].push_back(id);
    tree_.edit(id).kind = Kind::none;
  }
}

}  // namespace tare
