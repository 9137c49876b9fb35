#include "lib/attest/lightning_names.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "lib/attest/naming_keys.hpp"
#include "lib/attest/own_class.hpp"
#include "lib/base/holds.hpp"

namespace tare {
namespace {

constexpr std::string_view instantiator = "_instantiator";
constexpr auto lightning_keys = std::to_array<std::string_view>({instantiator, "_class_path", "class_path"});
constexpr auto modules_of_makers =
    std::to_array<std::string_view>({"lightning.cli", "lightning.pytorch.cli", "pytorch_lightning.cli"});

bool has_instantiator(const Tree& tree, NodeId node) {
  if (tree.kind(node) != Kind::map) return false;
  const NodeId value = tree.find(node, instantiator);
  return value != nowhere && tree.kind(value) == Kind::string;
}

/// Lightning parts any text at its last dot.
void add_path(const Tree& tree, NodeId value, std::vector<GlobalName>& names) {
  const std::string_view path = tree.text(value);
  const std::size_t dot = path.rfind('.');
  if (dot == path.npos) return;
  GlobalName name{std::string(path.substr(0, dot)), std::string(path.substr(dot + 1)), tree.span(value).offset};
  if (is_maker_of_lightning(name) || is_torch_class(name.module, name.name)) return;
  tree.take_memory(memory_of(name));
  names.push_back(std::move(name));
}

}  // namespace

bool is_maker_of_lightning(const GlobalName& name) {
  return name.name == "instantiate_module" && holds(modules_of_makers, name.module);
}

std::vector<GlobalName> names_for_lightning(const Tree& tree) {
  std::vector<GlobalName> names;
  NodeId first = 0;
  while (first < tree.size() && !has_instantiator(tree, first)) ++first;
  for (NodeId node = 0; first < tree.size() && node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::map) continue;
    const auto pairs = tree.items(node);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const bool is_text = tree.kind(pairs[i]) == Kind::string && tree.kind(pairs[i + 1]) == Kind::string;
      if (is_text && holds(lightning_keys, tree.text(pairs[i]))) add_path(tree, pairs[i + 1], names);
    }
  }
  return names;
}

}  // namespace tare
