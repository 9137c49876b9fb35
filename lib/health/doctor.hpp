// What is wrong with a run: its logs, its checkpoints, or both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/health_finding.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "lib/health/thresholds.hpp"
#include "lib/trace/trace.hpp"

namespace tare {

struct Diagnosis {
  std::vector<std::string> targets;
  std::vector<HealthFinding> findings;          ///< the gravest first; at least one
  std::optional<TraceCheckpoint> last_healthy;  ///< before the gravest trouble; nothing: no trouble, or none is known
};

/// What the trace alone tells: "healthy" or "no-scale-trace" where nothing else does.
std::vector<HealthFinding> examine(const Trace& trace, const Thresholds& thresholds);

/// What its readers found in a checkpoint: of its state, its files, its copies. Files are named by their locations.
std::vector<HealthFinding> examine(const Checkpoint& checkpoint);

/// Checkpoints of the run whose disk or store does not give them.
std::vector<HealthFinding> unread_files(const Trace& trace);

/// Whether a scaler of it holds a scale that no run can go on with.
bool is_sick(const TraceCheckpoint& checkpoint);

/// The newest checkpoint whose scales can be used, before `step` (nothing: before its scale went below `least_scale`).
std::optional<TraceCheckpoint> healthy_before(const Trace& trace, std::optional<std::int64_t> step, double least_scale);

/// Finds Diagnosis::last_healthy, for findings with the gravest first, and puts it into their advice.
void tell_last_healthy(Diagnosis& diagnosis, const Trace& trace);

/// Names that checkpoint of the run in the advice of each finding, or (nothing) the last that lies before the gravest
/// one, or where it would be. REQUIRES: the gravest finding first.
void name_healthy(std::vector<HealthFinding>& findings, const std::optional<TraceCheckpoint>& healthy,
                  const Trace& trace);

void put_gravest_first(std::vector<HealthFinding>& findings);

struct DoctorOptions {
  Thresholds thresholds = {};
  TraceOptions trace = {};
  /// Opens a checkpoint as open_checkpoint does; called by so many threads at the same time.
  std::function<Checkpoint(const std::string& path)> open;
  std::size_t at_once = 1;
};

/// Looks at all that lies at `paths`. Throws what read_trace throws, and what `open` throws of a checkpoint that cannot
/// be read; of what is neither a checkpoint nor tells of a run, "no-scale-trace" tells.
Diagnosis diagnose(const std::vector<std::string>& paths, const DoctorOptions& options);

/// Whether a finding is at least that grave.
bool has_finding(const Diagnosis& diagnosis, Severity least);

}  // namespace tare
