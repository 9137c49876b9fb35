// The keys under which modules keep their FP8 state.
#pragma once

#include <string>
#include <string_view>

#include "lib/tree/tree.hpp"

namespace tare {

/// `path` with the run of parts `from` ("core_attention.fused_attention") replaced by `to`, wherever it stands; the
/// path itself where it does not.
std::string renamed(std::string path, std::string_view from, std::string_view to);

/// A key, and the map that it is in.
struct StateKey {
  NodeId map = nowhere, key = nowhere;
};

/// The key of a map whose value is `state`. Throws `refused` where there is none that a file could change.
StateKey key_of_state(const Tree& tree, NodeId state);

}  // namespace tare
