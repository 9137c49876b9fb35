// What a state is about to do, and whether its rule can have left it so: judged by running the rule.
#pragma once

#include <vector>

#include "lib/dialect/found.hpp"

namespace tare {

/// Warnings and notes, with the path set; nothing of a state that no policy runs. See also judge (found.hpp).
std::vector<Finding> judge_next(const FoundScaler& scaler);

}  // namespace tare
