// Where TransformerEngine keeps its state, for those who choose what to read.
#pragma once

#include <string>
#include <string_view>

#include "lib/tree/tree.hpp"

namespace tare {

/// "layers.0._extra_state"; of a grouped module "..._extra_state1"; of a sharded object "..._extra_state/shard_0_2".
bool is_extra_state(std::string_view key);

/// What stands under such a key: Megatron-core keeps an object in a list of one, which `path` follows then.
NodeId unwrapped_extra_state(const Tree& tree, NodeId value, std::string& path);

}  // namespace tare
