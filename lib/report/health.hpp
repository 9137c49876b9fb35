// The answers about the health of a run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/codec/json_text.hpp"
#include "lib/health/doctor.hpp"
#include "lib/health/simulate_fp8.hpp"
#include "lib/health/simulation.hpp"
#include "lib/health/timeline.hpp"
#include "lib/transaction/recover.hpp"

namespace tare {

namespace report {
json::Json health_checkpoint(const std::optional<TraceCheckpoint>& checkpoint);
}  // namespace report

/// "tare.findings/1". `unfinished`, here and below: edits of the run's checkpoints whose values may not be those that
/// rule.
std::string findings_json(const Diagnosis& diagnosis, const std::vector<Pending>& unfinished);

/// The same findings as SARIF 2.1.0, which code hosts and editors show. `version` is tare's.
std::string findings_sarif(const Diagnosis& diagnosis, std::string_view version);

/// "tare.timeline/1"
std::string timeline_json(const Timeline& timeline, const std::vector<Pending>& unfinished);

/// "tare.simulate/1"
std::string simulation_json(const Simulation& simulation, const std::vector<Pending>& unfinished);

/// "tare.simulate-fp8/1"
std::string fp8_simulation_json(const Fp8Simulation& simulation, const std::vector<Pending>& unfinished);

/// "tare.rules/1": the table of rules and of their thresholds.
std::string rules_json();

}  // namespace tare
