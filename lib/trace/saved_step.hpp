// Which step a save is of: what its files count, or else what its name tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

struct SavedCounters {
  std::optional<std::int64_t> step;
  std::optional<std::uint64_t> skipped;  ///< since the run began
};

/// Whether a file of that name is a log, a table, one that is still being written or the like, whatever number is in
/// its name.
bool is_no_checkpoint(std::string_view name);

/// Whether a folder of that name is one that its writer renames when it is whole: Orbax's, T5X'.
bool is_being_written(std::string_view folder);

bool is_numbered(std::string_view name);

/// The step that a file's or folder's name tells: of "global_step4200", "epoch=9-step=300.ckpt", "1200".
std::optional<std::int64_t> step_in_name(std::string_view name);

/// The same of what lies at `path`, but for a folder that accelerate numbers by saves.
std::optional<std::int64_t> step_of_path(const std::string& path, const Files& files);

/// What a checkpoint counts in its files, or else its name tells, or that of the file with its first state. `files`:
/// those that it was opened with.
SavedCounters counters_of(const Checkpoint& checkpoint, const std::string& path, const Files& files);

}  // namespace tare
