// The files below a directory that could hold scaler state, in a fixed order.
#pragma once

#include <string>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/base/finding.hpp"
#include "lib/checkpoint/several_files.hpp"

namespace tare {

struct Listing {
  std::vector<std::string> files;    ///< relative paths, natural order: what is worth opening
  std::vector<std::string> weights;  ///< safetensors: of torch's trainers they hold a model alone
  std::vector<std::string> skipped;  ///< a few of the others, for a message that says what is there
  std::vector<std::string> links;    ///< a few of those that lead out, likewise
  std::vector<std::string> wholes;   ///< files that checkpoints of several files are opened by
  /// The format of which there are parts, and no file to open them by; null where there is none.
  const SeveralFiles* unfinished = nullptr;
};

/// Lists what is below `directory`, to a small depth. Symbolic links are not followed: inside they lead to what is
/// listed anyway, and one that leads out is told in `findings`. Hidden folders, tare's own among them, are left out.
/// Throws `io`, and `refused` where there are more files than lib/base/limits.hpp allows.
Listing list_files(const Files& files, const std::string& directory, std::vector<Finding>& findings);

/// Whether `path` is a folder with parts of a checkpoint, without the file that they are opened by. Throws likewise.
bool is_unfinished(const Files& files, const std::string& path);

}  // namespace tare
