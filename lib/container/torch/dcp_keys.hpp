// Keys taken out of a distributed checkpoint: its metadata forget them, what they named stays in the files unread.
// Source: torch/distributed/checkpoint/{metadata,filesystem,default_planner}.py.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "lib/container/node_change.hpp"
#include "lib/container/torch/dcp_metadata.hpp"

namespace tare {

/// What the metadata lose: a key's description, its places, its way in the state dict. Megatron-core's record of the
/// plans that led to the checkpoint goes as a whole: it plans anew where there is none, and takes a record that does
/// not fit for its next checkpoint's. Throws `refused` for metadata that say more about keys than torch's do.
/// REQUIRES: metadata with DcpShapes::read.
std::vector<NodeChange> without_keys(const DcpMetadata& metadata, const std::set<std::string_view>& keys);

}  // namespace tare
