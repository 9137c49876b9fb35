// States that stand in a model's state dict as keys MODULE.NAME, one state a module.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/base/keyed_hash.hpp"
#include "lib/dialect/found.hpp"

namespace tare {

/// A key's last part, what stands before it (empty for a module's own dict), and what the key holds.
struct ModuleKey {
  std::string_view module, name;
  NodeId value = nowhere;
  std::string_view whole;
};

/// Matches, one a module, that grow part by part.
class PartsByModule {
 public:
  void add(const ModuleKey& part) {
    const auto [known, is_new] = by_module_.try_emplace(part.module, nullptr);
    if (is_new) {
      known->second = &found_.emplace_back();
      known->second->path = part.module;
    }
    known->second->parts.push_back({std::string(part.name), part.value, {}});
  }

  /// In the order of their first parts. Leaves nothing behind.
  Matches take() {
    by_module_.clear();
    return std::move(found_);
  }

 private:
  Matches found_;
  std::unordered_map<std::string_view, Match*, KeyedHash> by_module_;
};

/// One match a module, of the keys of `map` that `is_part` names, in file order. `is_part` is asked for every key
/// that is a text, so it must be quick to say no; it may part the key elsewhere.
Matches parts_by_module(const Tree& tree, NodeId map, const std::function<bool(ModuleKey&)>& is_part);

}  // namespace tare
