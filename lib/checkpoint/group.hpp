// Scalers of many files -> distinct scalers.
#pragma once

#include <vector>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Takes every copy that was found, in file order. Copies of rank files that are alike become one scaler; ranks that
/// disagree become scalers of their own, with an error finding that names them.
std::vector<Scaler> group_copies(std::vector<ScalerCopy> copies, const std::vector<CheckpointFile>& files,
                                 std::vector<Finding>& findings);

}  // namespace tare
