#include "lib/dialect/parts_by_module.hpp"
#include "lib/base/keyed_hash.hpp"

#include <string>
#include <unordered_map>

namespace tare {

std::vector<Match> parts_by_module(const Tree& tree, NodeId map, const std::function<bool(ModuleKey&)>& is_part) {
  std::vector<Match> found;
  std::unordered_map<std::string_view, std::size_t, KeyedHash> number;  // by module
  const auto pairs = tree.items(map);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (tree.kind(pairs[i]) != Kind::string) continue;
    const std::string_view key = tree.text(pairs[i]);
    const std::size_t dot = key.rfind('.');
    ModuleKey part{{}, key, pairs[i + 1], key};
    if (dot != key.npos) part = {key.substr(0, dot), key.substr(dot + 1), pairs[i + 1], key};
    if (!is_part(part)) continue;
    const auto [known, is_new] = number.try_emplace(part.module, found.size());
    if (is_new) found.emplace_back().path = part.module;
    found[known->second].parts.push_back({std::string(part.name), part.value, {}});
  }
  return found;
}

}  // namespace tare
