#include "lib/dialect/parameter_names.hpp"

#include <algorithm>

namespace tare {

NodeId find_parameter(const Tree& tree, NodeId map, std::string_view name) {
  while (map != nowhere) {
    const NodeId found = tree.find(map, name);
    const std::size_t dot = name.find('.');
    if (found != nowhere || dot == name.npos) return found;
    map = tree.find(map, name.substr(0, dot));
    name.remove_prefix(dot + 1);
  }
  return nowhere;
}

Matches parameters_named(const Tree& tree, NodeId map, std::span<const FieldRule> names) {
  Match match;
  for (const FieldRule& rule : names) {
    const NodeId node = find_parameter(tree, map, rule.name);
    if (rule.required && (node == nowhere || tree.value(node, 1).number() == nullptr)) return {};
    if (node != nowhere) match.parts.push_back({std::string(rule.name), node, rule.role});
  }
  return {std::move(match)};
}

bool has_role(const Match& match, Role role) {
  return std::any_of(match.parts.begin(), match.parts.end(),
                     [&](const Match::Part& part) { return part.role == role; });
}

}  // namespace tare
