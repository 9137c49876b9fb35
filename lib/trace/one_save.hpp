// Whether a folder is one save of a run, or holds several: what `ls`, `timeline` and `doctor` go into, and what not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/base/finding.hpp"
#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// So far below the folder that was asked about logs and saves are looked for.
inline constexpr int deepest_folder = 16;

enum class FolderIs : std::uint8_t {
  one_save,
  run,    ///< of several saves, one of which is what was read
  other,  ///< what was read lies in folders of it, each of which may be a save
};

/// Whether `folder`, by its name and what lies in it, could be one save: where it could not, it need not be opened.
bool may_be_one_save(const std::string& folder, const std::vector<FileEntry>& entries);

/// What `folder` is that was opened as `checkpoint`.
FolderIs kind_of_folder(const Checkpoint& checkpoint, const std::string& folder);

/// Whether a file of that name is the first rank's of a save of its own, whose step is in its name beside the rank:
/// "ep0-ba10-rank0.pt".
bool is_first_rank_of_step(std::string_view name);

/// Whether files of ranks among `entries` are of more than one save, each of one step.
bool has_ranks_of_steps(const std::vector<FileEntry>& entries);

/// What is told of a folder that lies deeper than that.
Finding too_deep(const std::string& folder);

}  // namespace tare
