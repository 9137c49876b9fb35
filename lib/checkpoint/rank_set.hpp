// Are the files of all ranks there, and does each hold what the others hold?
#pragma once

#include <string>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/checkpoint/rank_grid.hpp"

namespace tare {

/// The paths of files that such a save has beside `paths`, where all names and sizes are known.
std::vector<std::string> absent_rank_files(const std::vector<std::string>& paths, const SizesByFolder& sizes);

/// Tells of rank files that are not there (`rank-missing`, an error): between others, in front of them, beyond them
/// where the sizes or the names tell how many there are, or all of a kind. And of scalers that several rank files hold
/// and others of the same group do not (`copies-missing`, an error).
void tell_of_incomplete_ranks(const std::vector<Scaler>& scalers, const std::vector<CheckpointFile>& files,
                              const SizesByFolder& sizes, std::vector<Finding>& findings);

}  // namespace tare
