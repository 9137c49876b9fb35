// Where TransformerEngine keeps its state, for those who choose what to read.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "lib/base/keyed_hash.hpp"
#include "lib/dialect/dialect.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// A module's whole name of it: "_extra_state", "layers.0._extra_state"; of a grouped module "..._extra_state1"; of a
/// sharded object "..._extra_state/shard_0_2".
bool is_extra_state(std::string_view key);

/// The modules of GroupedLinear whose extra state stands in a map: their weights are called weight0, weight1 and on,
/// and Megatron-core keeps them as experts.linear_fc1 and linear_fc2.
class GroupedModules {
 public:
  GroupedModules(const Tree& tree, NodeId map);
  /// By the key of the extra state.
  [[nodiscard]] bool contains(std::string_view extra_state_key) const;

 private:
  std::unordered_set<std::string_view, KeyedHash> with_weights_;  ///< paths that end with a dot, or are empty
};

/// Of a module that GroupedModules contains.
extern const Dialect transformer_engine_grouped_state;

/// The scale, a multiplier, that TransformerEngine's rule makes of an amax: see NextScale.
float transformer_engine_next_scale(float stored, float amax, float fp8_max, float two_to_margin);

/// What stands under such a key: Megatron-core keeps an object in a list of one, which `path` follows then.
NodeId unwrapped_extra_state(const Tree& tree, NodeId value, std::string& path);

}  // namespace tare
