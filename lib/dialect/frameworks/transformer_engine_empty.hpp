// TransformerEngine's modules that keep no FP8 state: what an empty extra state means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// A place where a module keeps no state: None, an empty tensor, or a document of None.
struct EmptyExtraState {
  std::string path;
  NodeId holder = nowhere;
  bool is_stream = false;  ///< an io.BytesIO, as releases up to 1.13 have it
};

std::vector<EmptyExtraState> empty_extra_states(const Tree& tree);

/// A note `fp8-state-empty`, where modules hold no scales: how many, and which recipe that means.
std::optional<Finding> told_of_empty_fp8(const Tree& tree);

}  // namespace tare
