#include "lib/dialect/parts_by_module.hpp"

namespace tare {
namespace {

/// The key's last part, behind the last dot, and what stands before it.
ModuleKey module_key(std::string_view key, NodeId value) {
  const std::size_t dot = key.rfind('.');
  if (dot == key.npos) return {{}, key, value, key};
  return {key.substr(0, dot), key.substr(dot + 1), value, key};
}

}  // namespace

Matches parts_by_module(const Tree& tree, NodeId map, const std::function<bool(ModuleKey&)>& is_part) {
  PartsByModule found;
  const auto pairs = tree.items(map);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (tree.kind(pairs[i]) != Kind::string) continue;
    ModuleKey part = module_key(tree.text(pairs[i]), pairs[i + 1]);
    if (is_part(part)) found.add(part);
  }
  return found.take();
}

}  // namespace tare
