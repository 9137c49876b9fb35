// Where TransformerEngine keeps its state, for those who choose what to read.
#pragma once

#include <string_view>

namespace tare {

/// "layers.0._extra_state"; of a grouped module "..._extra_state1"; of a sharded object "..._extra_state/shard_0_2".
bool is_extra_state(std::string_view key);

}  // namespace tare
