// TransformerEngine's modules that keep no FP8 state: what an empty extra state means.
#pragma once

#include <optional>
#include <string>

#include "lib/base/finding.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// What a module's extra state lacks.
struct LackOfScales {
  bool is_empty = false;    ///< None, an empty tensor, or a document of None
  std::string recipe = {};  ///< the class of the recipe that stands there without scales; empty: none does
};

/// Opens the state, as `unwrapped_extra_state` gives it.
LackOfScales lack_of_scales(const Tree& tree, NodeId state);

/// A note `fp8-state-empty`, where modules hold no scales: how many, and which recipe that means.
std::optional<Finding> told_of_empty_fp8(const Tree& tree);

}  // namespace tare
