// Folders and files of a run's saves, named as a trainer names them, and which of them it resumes from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/base/finding.hpp"

namespace tare {

/// The save among `entries`, those of `directory`, that a trainer would take, or the highest step where nobody's name
/// tells the trainer; says in `findings` what led there. Nothing where none is there. Throws `refused` where only the
/// user can choose.
std::optional<std::string> by_trainer(const Files& files, const std::string& directory,
                                      const std::vector<FileEntry>& entries, std::vector<Finding>& findings);

/// Whether a folder, "step_100", is taken for a save by its name alone, which tells of no trainer.
bool has_nobodys_name(std::string_view folder);

}  // namespace tare
