// Opcodes that make and fill lists, tuples, sets and dicts.
#include <array>

#include "lib/container/pickle/read/machine.hpp"

namespace tare {

void PickleMachine::empty_list(const PickleOp& op) {
  push(add_items(Kind::list, {}, op.span()));
}
void PickleMachine::empty_dict(const PickleOp& op) {
  push(add_items(Kind::map, {}, op.span()));
}
void PickleMachine::empty_set(const PickleOp& op) {
  push(add_items(Kind::set, {}, op.span()));
}
void PickleMachine::empty_tuple(const PickleOp& op) {
  push(add_items(Kind::tuple, {}, op.span()));
}

void PickleMachine::tuple_of(const PickleOp& op) {
  std::array<NodeId, 3> items{};
  const std::size_t count = static_cast<std::size_t>(op.code) - static_cast<std::size_t>(Opcode::tuple1) + 1;
  for (std::size_t i = count; i-- > 0;) items[i] = take(op);
  push(add_items(Kind::tuple, std::span(items).first(count), op.span()));
}

void PickleMachine::tuple_from_mark(const PickleOp& op) {
  const auto items = take_marked(op);
  push(add_items(Kind::tuple, items, op.span()));
}

void PickleMachine::list_from_mark(const PickleOp& op) {
  const auto items = take_marked(op);
  push(add_items(Kind::list, items, op.span()));
}

void PickleMachine::dict_from_mark(const PickleOp& op) {
  const auto pairs = take_marked(op);
  const NodeId map = add_items(Kind::map, {}, op.span());
  assign(op, map, pairs);
  push(map);
}

void PickleMachine::set_from_mark(const PickleOp& op) {
  const auto items = take_marked(op);
  for (const NodeId item : items) require_hashable(op, item);
  push(add_items(Kind::set, items, op.span()));
}

/// A list takes items itself; an object of unknown class keeps them beside its state.
void PickleMachine::extend(const PickleOp& op, NodeId target, std::span<const NodeId> items) {
  watch_filled(target);
  const Kind kind = tree_.kind(target);
  if (kind == Kind::list || kind == Kind::set) {
    tree_.append_items(target, items);
    return;
  }
  if (kind != Kind::opaque) fail(op, "appends to what is no list");
  if (tree_.contents(target) == nowhere) {
    tree_.replace_item(target, 3, add_items(Kind::list, items, op.span()));
  } else {
    tree_.append_items(tree_.contents(target), items);
  }
}

void PickleMachine::append(const PickleOp& op) {
  const NodeId item = take(op);
  extend(op, top(op), std::span(&item, 1));
}

void PickleMachine::appends(const PickleOp& op) {
  const auto items = take_marked(op);
  extend(op, top(op), items);
}

void PickleMachine::add_to_set(const PickleOp& op) {
  const auto items = take_marked(op);
  for (const NodeId item : items) require_hashable(op, item);
  extend(op, top(op), items);
}

void PickleMachine::require_hashable(const PickleOp& op, NodeId key) const {
  const Kind kind = tree_.kind(key);
  if (kind == Kind::list || kind == Kind::map || kind == Kind::set) fail(op, "a key that Python cannot hash");
}

void PickleMachine::assign(const PickleOp& op, NodeId target, std::span<const NodeId> pairs) {
  watch_filled(target);
  if (pairs.size() % 2 != 0) fail(op, "a key without a value");
  for (std::size_t i = 0; i < pairs.size(); i += 2) require_hashable(op, pairs[i]);
  if (tree_.kind(target) == Kind::opaque) {
    if (tree_.contents(target) == nowhere) {
      tree_.replace_item(target, 3, add_items(Kind::map, {}, op.span()));
    }
    target = tree_.contents(target);
  }
  if (tree_.kind(target) != Kind::map) fail(op, "sets keys of what is no dict");
  tree_.append_items(target, pairs);
}

void PickleMachine::set_item(const PickleOp& op) {
  const NodeId value = take(op);
  const NodeId key = take(op);
  const std::array pair{key, value};
  if (!hand_out(op, pair)) return assign(op, top(op), pair);
  begin_pairs();
}

void PickleMachine::set_items(const PickleOp& op) {
  const auto pairs = take_marked(op);
  if (!hand_out(op, pairs)) return assign(op, top(op), pairs);
  forget_pairs();
  begin_pairs();
}

}  // namespace tare
