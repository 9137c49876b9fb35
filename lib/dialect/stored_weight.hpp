// Models whose weights are stored in 8 or 4 bits, with their scales as tensors beside them.
#pragma once

#include <vector>

#include "lib/dialect/dialect.hpp"

namespace tare {

/// Those of the scales in `map` that `dialect` wrote: what lies beside a scale tells.
std::vector<Match> stored_weights(const Dialect& dialect, const Tree& tree, NodeId map);

/// The finder of a dialect that nothing else makes out.
template <const Dialect& dialect>
std::vector<Match> find_stored_weights(const Tree& tree, NodeId map, NodeId) {
  return stored_weights(dialect, tree, map);
}

}  // namespace tare
