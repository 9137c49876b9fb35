// The files below a directory that could hold scaler state, in a fixed order.
#pragma once

#include <string>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/base/finding.hpp"

namespace tare {

struct Listing {
  std::vector<std::string> files;        ///< relative paths, natural order: what is worth opening
  std::vector<std::string> weights;      ///< safetensors: of torch's trainers they hold a model alone
  std::vector<std::string> skipped;      ///< a few of the others, for a message that says what is there
  std::vector<std::string> distributed;  ///< metadata files of torch's distributed checkpoints
  bool has_distributed_data = false;     ///< `.distcp` files
};

/// Lists what is below `directory`, to a small depth. Symbolic links are not followed: inside they lead to what is
/// listed anyway, and one that leads out is told in `findings`. Hidden folders, tare's own among them, are left out.
/// Throws `io`, and `refused` where there are more files than lib/base/limits.hpp allows.
Listing list_files(const Files& files, const std::string& directory, std::vector<Finding>& findings);

}  // namespace tare
