// One file of a checkpoint, or the files of one distributed checkpoint, read on their own: what they hold.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/dialect/rank_sizes.hpp"
#include "lib/dialect/resume.hpp"
#include "lib/dialect/stored_weight.hpp"

namespace tare {

struct ReadScaler {
  FoundScaler state;
  ScalerCopy copy;
};

/// Indices count from 0, as if there were no other files.
struct Reading {
  std::vector<CheckpointFile> files;
  std::list<ReadScaler> scalers;  ///< whoever takes them over, takes each away: there can be very many
  std::vector<SavedConfiguration> configurations;
  std::vector<Finding> findings;      ///< each with its file
  std::string contents;               ///< what is there instead, where there is no scaler
  std::vector<SeenTrainer> trainers;  ///< that the file tells of
  RankSizes sizes = {};               ///< what the file says of the ranks that saved with it
  bool may_hold_more = false;         ///< it is of a format that nobody can read yet
  ScaledTypes scaled_types = {};      ///< of the weights that stand beside their scales
};

/// Reads the file `relative` of a checkpoint, found at `location`; of a metadata file all that it describes. Throws as
/// open_container does.
Reading read_checkpoint_file(const std::string& relative, const std::string& location, const OpenOptions& options);

/// As open_container; a small file is read at once.
std::unique_ptr<Container> open_single_file(const std::shared_ptr<const Source>& source);

}  // namespace tare
