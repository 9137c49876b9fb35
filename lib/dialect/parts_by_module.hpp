// States that stand in a model's state dict as keys MODULE.NAME, one state a module.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "lib/dialect/found.hpp"

namespace tare {

/// A key's last part, what stands before it (empty for a module's own dict), and what the key holds.
struct ModuleKey {
  std::string_view module, name;
  NodeId value = nowhere;
  std::string_view whole;
};

/// One match a module, of the keys of `map` that `is_part` names, in file order. `is_part` is asked for every key
/// that is a text, so it must be quick to say no; it may part the key elsewhere.
std::vector<Match> parts_by_module(const Tree& tree, NodeId map, const std::function<bool(ModuleKey&)>& is_part);

}  // namespace tare
