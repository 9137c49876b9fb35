// What the tests of every value ask of a tree: which values it has, what they could become, and whether two are alike.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/container/image.hpp"

namespace tare::test {

inline constexpr std::uint64_t most_elements = 64;  // what `differing` looks at
inline constexpr std::size_t most_a_file = 6;

struct Tally {
  std::size_t changed = 0;
  std::size_t refused = 0;
};

/// What a reader is shown: not the pieces that a tensor is made of.
inline std::set<NodeId> shown(const Tree& tree) {
  std::set<NodeId> found;
  std::vector<NodeId> open{tree.root};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (node == nowhere || !found.insert(node).second) continue;
    if (tree.kind(node) == Kind::tensor || tree.kind(node) == Kind::array) continue;
    open.push_back(tree.fields(node));
    for (const NodeId item : tree.items(node)) open.push_back(item);
  }
  return found;
}

/// Tensors of `least` elements and more, one of each type and shape.
inline std::vector<NodeId> unlike_tensors(const Tree& tree, std::uint64_t least) {
  std::vector<NodeId> found;
  std::set<std::string> known;
  for (const NodeId node : shown(tree)) {
    if (found.size() == most_a_file) break;
    if (tree.kind(node) != Kind::tensor && tree.kind(node) != Kind::array) continue;
    const Tensor tensor = tree.tensor(node);
    const std::uint64_t count = tensor.count();
    if (tensor.type.size == 0 || count < least || count > most_elements) continue;
    std::string strides;
    for (const std::int64_t stride : tensor.strides) strides += std::to_string(stride) + " ";
    if (known.insert(tensor.type_text() + strides).second) found.push_back(node);
  }
  return found;
}

/// What every type holds, and is not there yet.
inline double another(const Bytes& elements, std::uint64_t index, ElementType type) {
  const ByteView old = ByteView(elements).subspan(index * type.size, type.size);
  const Bytes one = element_bytes(type, 1, std::endian::little);
  return std::ranges::equal(old, one) ? 0 : 1;
}

/// `most` of them, from the first to the last alike.
inline std::vector<NodeId> spread(const std::vector<NodeId>& all, std::size_t most) {
  const std::size_t count = std::min(most, all.size());
  std::vector<NodeId> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

/// Numbers that stand by themselves, `most` of them, spread over the file.
inline std::vector<NodeId> some_numbers(const Tree& tree, std::size_t most) {
  std::vector<NodeId> all;
  for (const NodeId node : shown(tree)) {
    const Kind kind = tree.kind(node);
    if (kind == Kind::boolean || kind == Kind::integer || kind == Kind::floating) all.push_back(node);
  }
  return spread(all, most);
}

/// Of the same kind: in fewer bytes, in more, with another sign.
inline std::vector<NodeValue> other_numbers(const Tree& tree, NodeId node) {
  switch (tree.kind(node)) {
    case Kind::boolean:
      return {!tree[node].as.boolean};
    case Kind::integer:
      return {Integer{77, {}}, Integer{70'000, {}}, Integer{-3'000'000'000, {}}, Integer{1LL << 62, {}}};
    default:
      return {0.75, -1e300};
  }
}

/// All that a reader is shown below `node`, as text, as though `gone` were not there.
inline std::string told(const Tree& tree, NodeId node, NodeId gone, std::size_t depth = 0) {
  constexpr std::size_t deepest = 64;
  if (node == nowhere || node == gone || depth == deepest) return {};
  std::string text = seen(tree, node);
  const NodeId fields = tree.fields(node);
  if (fields != node) text += told(tree, fields, gone, depth + 1);
  const auto items = tree.items(node);
  const bool is_map = tree.kind(node) == Kind::map;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const NodeId value = is_map && i % 2 == 0 ? items[i + 1] : items[i];
    if (value != gone) text += "(" + told(tree, items[i], gone, depth + 1) + ")";
  }
  return text;
}

inline constexpr std::size_t to_fields = static_cast<std::size_t>(-1);

/// How a reader comes from the root to `wanted`: by the number of an item, or to the fields of an object.
inline std::optional<std::vector<std::size_t>> way_to(const Tree& tree, NodeId wanted) {
  std::map<NodeId, std::pair<NodeId, std::size_t>> from;
  std::vector<NodeId> open{tree.root};
  const auto reach = [&](NodeId node, NodeId by, std::size_t step) {
    if (node != nowhere && node != by && from.try_emplace(node, by, step).second) open.push_back(node);
  };
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    reach(tree.fields(node), node, to_fields);
    for (std::size_t i = 0; i < tree.items(node).size(); ++i) reach(tree.items(node)[i], node, i);
  }
  std::vector<std::size_t> steps;
  for (NodeId node = wanted; node != tree.root; node = from.at(node).first) {
    if (!from.contains(node)) return std::nullopt;
    steps.push_back(from.at(node).second);
  }
  std::ranges::reverse(steps);
  return steps;
}

inline NodeId at(const Tree& tree, const std::vector<std::size_t>& steps) {
  NodeId node = tree.root;
  for (const std::size_t step : steps) node = step == to_fields ? tree.fields(node) : tree.items(node)[step];
  return node;
}

/// Where two texts part, and a little of both; empty where they are one.
inline std::string parting(const std::string& a, const std::string& b) {
  if (a == b) return {};
  const auto end = std::ranges::mismatch(a, b).in1 - a.begin();
  const auto from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(end - 40, 0));
  return a.substr(from, 100) + " and " + b.substr(std::min(from, b.size()), 100);
}

}  // namespace tare::test
