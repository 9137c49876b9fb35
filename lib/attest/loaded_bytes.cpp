#include "lib/attest/loaded_bytes.hpp"

#include <algorithm>

namespace tare {
namespace {

/// torch.load with weights_only=False.
constexpr QualifiedName loader{"torch.storage", "_load_from_bytes"};

bool is_loader(const Tree& tree, NodeId node) {
  return node != nowhere && tree.kind(node) == Kind::name && tree.qualified_name(node) == loader;
}

/// Whether a call hands over nothing but bytes that stand in the file.
bool takes_bytes(const Tree& tree, NodeId call) {
  const auto arguments = tree.items(tree.arguments(call));
  return arguments.size() == 1 && tree.kind(arguments.front()) == Kind::bytes;
}

bool is_handed_on(const Tree& tree, NodeId node) {
  const Kind kind = tree.kind(node);
  const bool has_parts = kind == Kind::opaque || kind == Kind::tensor || kind == Kind::array;
  const auto all = has_parts ? tree.parts(node) : tree.items(node);
  if (has_parts && is_loader(tree, all.front()) && !takes_bytes(tree, node)) return true;
  return std::ranges::any_of(all.subspan(has_parts ? 1 : 0), [&](NodeId part) { return is_loader(tree, part); });
}

}  // namespace

std::vector<GlobalName> loads_of_computed_bytes(const Tree& tree) {
  std::vector<GlobalName> found;
  NodeId first = 0;
  while (first < tree.size() && !is_loader(tree, first)) ++first;
  for (NodeId node = first; node < tree.size(); ++node) {
    if (!is_handed_on(tree, node)) continue;
    constexpr std::uint64_t bytes_a_name = 512;
    tree.take_memory(bytes_a_name);
    found.push_back({"pickle", "loads", tree.span(node).offset});
  }
  return found;
}

}  // namespace tare
