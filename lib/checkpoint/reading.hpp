// One file of a checkpoint, or the files of one distributed checkpoint, read on their own: what they hold.
#pragma once

#include <string>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Indices count from 0, as if there were no other files.
struct Reading {
  std::vector<CheckpointFile> files;
  std::vector<ScalerCopy> copies;
  std::vector<Finding> findings;  ///< each with its file
  std::string contents;           ///< what is there instead, where there is no scaler
  bool may_hold_more = false;     ///< it is of a format that nobody can read yet
};

/// Reads the file `relative` of a checkpoint, found at `location`; of a metadata file all that it describes. Throws as
/// open_container does.
Reading read_checkpoint_file(const std::string& relative, const std::string& location, const OpenOptions& options);

}  // namespace tare
