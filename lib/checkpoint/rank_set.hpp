// Are the files of all ranks there, and does each hold what the others hold?
#pragma once

#include <vector>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Tells of rank files that are missing between those that are there (`rank-missing`), and of scalers that several rank
/// files hold and others of the same group do not (`copies-missing`, an error).
void tell_of_incomplete_ranks(const std::vector<Scaler>& scalers, const std::vector<CheckpointFile>& files,
                              std::vector<Finding>& findings);

}  // namespace tare
