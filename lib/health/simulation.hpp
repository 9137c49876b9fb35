// The answer about other settings, put together: what was observed, what each would have done, what explains the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/health/explain.hpp"
#include "lib/health/simulate.hpp"

namespace tare {

struct SimulatedRun {
  SimulatedSetting setting;
  Simulated result;
};

struct Simulation {
  std::vector<std::string> targets;
  double below = 0;
  ObservedRun observed;
  std::vector<SimulatedRun> runs;
  std::optional<Explanation> explained;
};

struct SimulationRequest {
  std::vector<std::string> targets;
  Sweep sweep = {};
  bool wants_sweep = true;
  bool wants_explanation = false;
  SimulateOptions options = {};
};

/// `maxima` as observe takes them. Throws what observe and settings_of throw.
Simulation simulation_of(const Trace& trace, const Trace* maxima, const SimulationRequest& request);

}  // namespace tare
