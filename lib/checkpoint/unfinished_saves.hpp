// Saves that a marker beside them tells to be unfinished: their trainer passes over them.
#pragma once

#include <string>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/base/finding.hpp"

namespace tare {

struct UnfinishedSave {
  std::string name;
  Finding finding;  ///< a warning, "incomplete-checkpoint"
};

/// Of the entries of `folder`, in their order.
std::vector<UnfinishedSave> unfinished_saves(const std::string& folder, const std::vector<FileEntry>& entries);

/// Takes those from the entries.
void leave_out(const std::vector<UnfinishedSave>& unfinished, std::vector<FileEntry>& entries);

}  // namespace tare
