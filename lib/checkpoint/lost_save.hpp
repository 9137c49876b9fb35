// The save that a run would be resumed from, and that nothing is read of.
#pragma once

#include <optional>
#include <string>

#include "lib/base/files.hpp"
#include "lib/base/finding.hpp"

namespace tare {

struct LostSave {
  std::string path;
  Finding finding;
};

/// Of a run in the folder `directory` whose framework resumes from a folder that holds no checkpoint: an error,
/// "incomplete-checkpoint"; whose pointer names nothing beside it: one of the run, "pointer-astray". Where it resumes
/// from a link out of the run: a warning, "link-not-read". Nothing of any other folder.
std::optional<LostSave> lost_save(const Files& files, const std::string& directory);

}  // namespace tare
