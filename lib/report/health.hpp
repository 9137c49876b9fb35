// The answers about the health of a run.
#pragma once

#include <string>
#include <string_view>

#include "lib/codec/json_text.hpp"
#include "lib/health/doctor.hpp"
#include "lib/health/simulate_fp8.hpp"
#include "lib/health/simulation.hpp"
#include "lib/health/timeline.hpp"

namespace tare {

namespace report {
json::Json health_checkpoint(const std::optional<TraceCheckpoint>& checkpoint);
}  // namespace report

/// "tare.findings/1"
std::string findings_json(const Diagnosis& diagnosis);

/// The same findings as SARIF 2.1.0, which code hosts and editors show. `version` is tare's.
std::string findings_sarif(const Diagnosis& diagnosis, std::string_view version);

/// "tare.timeline/1"
std::string timeline_json(const Timeline& timeline);

/// "tare.simulate/1"
std::string simulation_json(const Simulation& simulation);

/// "tare.simulate-fp8/1"
std::string fp8_simulation_json(const Fp8Simulation& simulation);

/// "tare.rules/1": the table of rules and of their thresholds.
std::string rules_json();

}  // namespace tare
