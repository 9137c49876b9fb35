// Adam whose second moments are 0: gradients that never arrived, or whose squares are too small for the moments' type.
#pragma once

#include <optional>

#include "lib/base/finding.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// A warning `moments-zero`, where every second moment that was looked at holds nothing but 0 after at least one step.
/// Small tensors alone are looked at, the first few of them, and none behind one that holds something.
std::optional<Finding> told_of_zero_moments(const Tree& tree);

}  // namespace tare
