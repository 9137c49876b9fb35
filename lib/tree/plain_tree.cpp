#include "lib/tree/plain_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
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
  tree_.take_memory(2 * sizeof(NodeId));  // among the items of what is open
  put_place(id, place);
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
  const std::uint64_t begin = place(closed).offset;
  put_place(closed, {begin, end - begin});
  return closed;
}

Span PlainTree::place(NodeId id) const {
  const auto far = far_places_.find(id);
  return far == far_places_.end() ? tree_.span(id) : far->second;
}

/// In the node, which has room for it where it is near the beginning and short, as nearly all are.
void PlainTree::put_place(NodeId id, Span place) {
  Node& node = tree_.edit(id);
  const bool is_noted_on = node.kind == Kind::tensor || node.kind == Kind::array || node.kind == Kind::name;
  const bool is_short = node_size(place.size + 1) == place.size + 1;
  if (!is_noted_on && place.offset <= std::numeric_limits<std::uint32_t>::max() && is_short) {
    node.begin = static_cast<std::uint32_t>(place.offset);
    node.size = static_cast<std::uint16_t>(place.size);
    far_places_.erase(id);
    return;
  }
  constexpr std::size_t bytes_a_far_place = 64;
  if (far_places_.insert_or_assign(id, place).second) tree_.take_memory(bytes_a_far_place);
}

bool PlainTree::wants_key() const {
  return !open_.empty() && tree_.kind(open_.back().node) == Kind::map && open_.back().items.size() % 2 == 0;
}

/// A few texts are compared sooner than hashed.
bool PlainTree::has_few_distinct_keys(const Open& map) const {
  constexpr std::size_t few = 8;
  if (map.items.size() / 2 > few) return false;
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    if (tree_.kind(map.items[i]) != Kind::string) return false;
    const std::string_view key = tree_.text(map.items[i]);
    for (std::size_t before = 0; before < i; before += 2) {
      if (tree_.text(map.items[before]) == key) return false;
    }
  }
  return true;
}

void PlainTree::drop_doubles(Open& map) {
  const std::size_t count = map.items.size() / 2;
  if (count < 2 || has_few_distinct_keys(map)) return;
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
