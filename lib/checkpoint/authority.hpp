// Which copy of a scaler's state counts, as far as it takes a look at more than one file to tell.
#pragma once

#include <vector>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Completes what the dialects know of single copies; tells of copies that no rank loads (`copy-not-loaded`) and of
/// data-parallel groups that would start differently (`groups-disagree`).
void settle_authority(std::vector<Scaler>& scalers, const std::vector<CheckpointFile>& files,
                      std::vector<Finding>& findings);

}  // namespace tare
