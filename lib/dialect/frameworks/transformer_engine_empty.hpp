// TransformerEngine's modules that keep no scales: what an empty extra state means, and one of a recipe alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Where a module keeps its extra state, and no scales in it: None, an empty tensor, a document of None; or a recipe
/// that needs none between steps.
struct UnscaledModule {
  std::string path;
  NodeId holder = nowhere;
  bool is_stream = false;     ///< an io.BytesIO, as releases up to 1.13 have it
  bool is_grouped = false;    ///< a GroupedLinear
  bool is_operation = false;  ///< of te.ops, which pass over the state of a module
  std::string recipe = {};    ///< the class of the recipe that stands there alone; empty: nothing does
};

std::vector<UnscaledModule> modules_without_scales(const Tree& tree);

/// A note `fp8-state-empty`, where modules hold no scales: how many, and which recipe that means.
std::optional<Finding> told_of_empty_fp8(const Tree& tree);

}  // namespace tare
