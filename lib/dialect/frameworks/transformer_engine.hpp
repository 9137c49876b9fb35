// Where TransformerEngine keeps its state, for those who choose what to read.
#pragma once

#include <string>
#include <string_view>

#include "lib/tree/tree.hpp"

namespace tare {

/// "layers.0._extra_state"; of a grouped module "..._extra_state1"; of a sharded object "..._extra_state/shard_0_2".
bool is_extra_state(std::string_view key);

/// The scale, a multiplier, that TransformerEngine's rule makes of an amax: see NextScale.
float transformer_engine_next_scale(float stored, float amax, float fp8_max, float two_to_margin);

/// What stands under such a key: Megatron-core keeps an object in a list of one, which `path` follows then.
NodeId unwrapped_extra_state(const Tree& tree, NodeId value, std::string& path);

}  // namespace tare
