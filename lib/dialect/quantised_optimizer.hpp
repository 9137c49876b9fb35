// Optimizers whose moments are kept in 8 or fewer bits have scales of their own, a block's each: no loss scale, and no
// state of FP8 training. They are named, so that nobody takes them for one.
#pragma once

#include <optional>

#include "lib/base/finding.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// A note `quantised-optimizer`, where the file has any.
std::optional<Finding> told_of_quantised_optimizer(const Tree& tree);

}  // namespace tare
