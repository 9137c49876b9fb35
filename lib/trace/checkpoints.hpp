// A run's own checkpoints: each is one step of the trace, with its scale and counters.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "lib/trace/trace.hpp"

namespace tare {

/// One checkpoint, as far as a trace goes.
struct Save {
  TraceCheckpoint checkpoint = {};
  std::optional<double> scale = {};
  std::optional<std::uint64_t> skipped = {};  ///< since the run began
  bool has_scaler = true;                     ///< false: nothing is known of it but its place and step
  bool is_one = true;                         ///< false: a folder of several, or of folders that may be saves
  std::string not_read = {};                  ///< why nothing can be read of it; empty where something can
  bool is_damaged = false;                    ///< which is why
};

/// Nothing where there is neither a scaler nor a step in its name, or nothing that can be read. `budget`: of all that
/// it is read with.
std::optional<Save> read_save(const std::string& path, const Files& files, const std::shared_ptr<Budget>& budget);

/// Whether what opening a save threw tells that it is damaged, or was never finished, and not that it is none: markers,
/// packed logs and pages may have a step in their names, too.
bool is_damaged_save(const std::string& path, const Files& files, const Error& error);

using ReadSave = std::function<std::optional<Save>(const std::string& path)>;

/// The same with another reader.
Trace read_run_checkpoints(std::span<const std::string> paths, const TraceOptions& options, const ReadSave& read);

/// The checkpoints at `paths` and below them, in the order of their steps: as steps, if nothing else tells of the
/// scale, and in Trace::checkpoints.
Trace read_run_checkpoints(std::span<const std::string> paths, const TraceOptions& options);

}  // namespace tare
