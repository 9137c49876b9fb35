// A run at a glance: its checkpoints, what happened between them, and the curve of its scale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/chart/curve.hpp"
#include "lib/health/doctor.hpp"
#include "lib/trace/trace.hpp"

namespace tare {

/// A checkpoint, and what the logs tell of the steps since the one before.
struct TimelineRow {
  TraceCheckpoint checkpoint;
  std::uint64_t overflows = 0, growths = 0;         ///< since the row before, at least
  std::optional<double> lowest = {}, highest = {};  ///< scale since the row before
  bool is_sick = false;                             ///< no run can go on with its scale
  bool is_last_healthy = false;
};

struct Timeline {
  std::vector<std::string> targets = {};
  std::string unit = {};
  std::vector<TimelineRow> rows = {};  ///< by step
  chart::Curve curve = {};
  std::vector<HealthFinding> findings = {};  ///< of the trace
  std::optional<TraceCheckpoint> last_healthy = {};
};

/// Throws `not_found` where neither a scale nor a checkpoint is told.
Timeline timeline_of(const Trace& trace, const std::vector<std::string>& targets, const Thresholds& thresholds = {});

}  // namespace tare
