// A run's own checkpoints: each is one step of the trace, with its scale and counters.
#pragma once

#include <span>
#include <string>

#include "lib/trace/trace.hpp"

namespace tare {

/// The checkpoints at `paths` and right below them, in the order of their steps: as steps, if nothing else tells of the
/// scale, and in Trace::checkpoints.
Trace read_run_checkpoints(std::span<const std::string> paths, const TraceOptions& options);

}  // namespace tare
