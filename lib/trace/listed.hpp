// Every checkpoint below a folder at a glance: what `tare ls` tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/base/finding.hpp"
#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

struct ListedCheckpoint {
  std::string path = {};                  ///< to open it
  std::optional<std::int64_t> step = {};  ///< nothing where neither its state nor its name tells
  std::string dialect = {};               ///< of its first loss scale, else of its first state; empty: it has none
  std::optional<double> scale = {};       ///< of its first loss scale
  std::size_t files = 0;                  ///< that were read
  std::size_t loss_scales = 0;
  std::size_t fp8_states = 0;
  std::vector<Finding> findings =
      {};  ///< warnings and errors; where it cannot be read, one that says why ("file-not-read")
};

struct ListOptions {
  const Files* files = &local_files();  ///< borrowed
  std::size_t at_once = 1;              ///< so many checkpoints are read at the same time
  /// Opens a checkpoint as open_checkpoint does; called by several threads.
  std::function<Checkpoint(const std::string& path)> open = {};
};

/// What lies at `path` and below it: a folder that is read as one checkpoint is one, and what is below another is
/// looked at, links and hidden folders left out. In natural order of the paths. A checkpoint without a state that tare
/// knows is one where its name tells a step. Throws `not_found` where there is none, `io` where the folder cannot be
/// listed, and `refused` for more than limits::max_files files and folders.
std::vector<ListedCheckpoint> list_checkpoints(const std::string& path, const ListOptions& options);

}  // namespace tare
