#include "lib/container/plain_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

constexpr std::size_t max_values = std::size_t{1} << 23;  ///< in one file

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
  if (tree_.size() > max_values) {
    throw Error(Status::refused, fmt::format("{}: more than {} values", source_, max_values));
  }
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

bool PlainTree::wants_key() const {
  return !open_.empty() && tree_.kind(open_.back().node) == Kind::map && open_.back().items.size() % 2 == 0;
}

void PlainTree::drop_doubles(Open& map) {
  std::unordered_map<std::string, std::size_t> first;  // key: where in `kept`
  std::vector<NodeId> kept;
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const std::string key = tree_.key_text(map.items[i]);
    const auto [known, is_new] = first.try_emplace(key, kept.size());
    if (is_new) {
      kept.push_back(map.items[i]);
      kept.push_back(map.items[i + 1]);
      continue;
    }
    kept[known->second + 1] = map.items[i + 1];
    findings.push_back({Severity::warning,
                        "duplicate-key",
                        fmt::format("'{}' is in a map twice: Python keeps the last value", key),
                        {},
                        {}});
  }
  map.items = std::move(kept);
}

}  // namespace tare
