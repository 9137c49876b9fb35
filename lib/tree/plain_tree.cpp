#include "lib/tree/plain_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

constexpr std::size_t most_told = 8;

}  // namespace

void PlainTree::boolean(bool value, Span place) {
  Node node;
  node.kind = Kind::boolean;
  node.as.boolean = value;
  add(node, place);
}

void PlainTree::integer(std::int64_t value, Span place) {
  Node node;
  node.kind = Kind::integer;
  node.as.integer = value;
  add(node, place);
}

void PlainTree::big_integer(std::string_view decimal, Span place) {
  node(tree_.add_big_integer(decimal, {}), place);
}

void PlainTree::floating(double value, Span place) {
  Node node;
  node.kind = Kind::floating;
  node.as.floating = value;
  add(node, place);
}

void PlainTree::text(Kind kind, std::string_view text, Span place) {
  node(tree_.add_side_text(kind, text, {}), place);
}

void PlainTree::node(NodeId id, Span place) {
  tree_.take_memory(sizeof(Span) + 2 * sizeof(NodeId));  // here, and among the items of what is open
  places_.resize(tree_.size());
  places_[id] = place;
  if (open_.empty()) {
    tree_.root = id;
  } else {
    open_.back().items.push_back(id);
  }
}

void PlainTree::open(Kind kind, Span place) {
  if (open_.size() == limits::max_depth) {
    throw Error(Status::refused, fmt::format("{}: nested more than {} deep", source_, limits::max_depth));
  }
  const NodeId id = tree_.add_items(kind, {}, {});
  node(id, place);
  open_.push_back({id, {}});
}

NodeId PlainTree::close() {
  Open closed = std::move(open_.back());
  open_.pop_back();
  if (tree_.kind(closed.node) == Kind::map) drop_doubles(closed);
  tree_.append_items(closed.node, closed.items);
  return closed.node;
}

NodeId PlainTree::close(std::uint64_t end) {
  const NodeId closed = close();
  places_[closed].size = end - places_[closed].offset;
  return closed;
}

bool PlainTree::wants_key() const {
  return !open_.empty() && tree_.kind(open_.back().node) == Kind::map && open_.back().items.size() % 2 == 0;
}

void PlainTree::drop_doubles(Open& map) {
  const std::size_t count = map.items.size() / 2;
  if (count < 2) return;
  constexpr std::size_t bytes_a_key = 64;  // text, place and slot in what follows
  tree_.take_memory(count * bytes_a_key);
  std::vector<std::string> texts;  // of keys that are no text
  texts.reserve(count);
  std::unordered_map<std::string_view, std::size_t, KeyedHash> first;  // key: where in `kept`
  first.reserve(count);
  std::vector<NodeId> kept;
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const NodeId node = map.items[i];
    const std::string_view key =
        tree_.kind(node) == Kind::string ? tree_.text(node) : texts.emplace_back(tree_.key_text(node));
    const auto [known, is_new] = first.try_emplace(key, kept.size());
    if (is_new) {
      kept.push_back(node);
      kept.push_back(map.items[i + 1]);
      continue;
    }
    kept[known->second + 1] = map.items[i + 1];
    if (doubles_++ >= most_told) continue;
    findings.push_back({Severity::warning,
                        "duplicate-key",
                        fmt::format("'{}' is in a map twice: Python keeps the last value", key),
                        {},
                        {}});
  }
  map.items = std::move(kept);
}

}  // namespace tare
