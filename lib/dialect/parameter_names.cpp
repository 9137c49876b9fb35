#include "lib/dialect/parameter_names.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace tare {
namespace {

/// What stands in front of `name` in `key`, without the dot; nothing where `key` does not end in it.
std::optional<std::string_view> path_before(std::string_view key, std::string_view name) {
  if (!key.ends_with(name)) return std::nullopt;
  key.remove_suffix(name.size());
  if (key.empty()) return key;
  if (key.back() != '.') return std::nullopt;
  key.remove_suffix(1);
  return key;
}

std::string_view key_of(const Tree& tree, NodeId key) {
  return tree.kind(key) == Kind::string ? tree.text(key) : std::string_view();
}

bool is_number(const Tree& tree, NodeId node) {
  return tree.value(node, 1).number() != nullptr;
}

bool is_whole(const Tree& tree, const Sighting& sighting, std::span<const FieldRule> names) {
  return std::all_of(names.begin(), names.end(), [&](const FieldRule& rule) {
    const auto is_it = [&](const Sighting::Part& part) { return part.name == rule.name && is_number(tree, part.node); };
    return !rule.required || std::any_of(sighting.parts.begin(), sighting.parts.end(), is_it);
  });
}

}  // namespace

std::vector<Sighting> parameters_named(const Tree& tree, NodeId map, NodeId root, std::span<const FieldRule> names) {
  std::vector<Sighting> sightings;
  if (map != root) return sightings;
  const auto pairs = tree.items(map);
  std::map<std::string_view, std::size_t> by_path;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const auto path = path_before(key_of(tree, pairs[i]), names.front().name);
    if (!path || !by_path.try_emplace(*path, sightings.size()).second) continue;
    sightings.push_back({std::string(*path), {}});
  }
  if (sightings.empty()) return sightings;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    for (const FieldRule& rule : names) {
      const auto path = path_before(key_of(tree, pairs[i]), rule.name);
      const auto found = path ? by_path.find(*path) : by_path.end();
      if (found == by_path.end()) continue;
      sightings[found->second].parts.push_back({std::string(rule.name), pairs[i + 1], rule.role});
    }
  }
  std::erase_if(sightings, [&](const Sighting& sighting) { return !is_whole(tree, sighting, names); });
  return sightings;
}

bool has_role(const Sighting& sighting, Role role) {
  return std::any_of(sighting.parts.begin(), sighting.parts.end(),
                     [&](const Sighting::Part& part) { return part.role == role; });
}

}  // namespace tare
