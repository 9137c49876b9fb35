#include "lib/health/simulation.hpp"

namespace tare {
Simulation simulation_of(const Trace& trace, const Trace* maxima, const SimulationRequest& request) {
  Simulation answer{.targets = request.targets,
                    .below = request.options.below,
                    .observed = observe(trace, request.options.below, maxima),
                    .runs = {},
                    .explained = {}};
  if (request.wants_sweep) {
    for (SimulatedSetting& setting : settings_of(request.sweep, answer.observed.first_scales)) {
      const Simulated result = simulate(answer.observed, setting, request.options);
      answer.runs.push_back({std::move(setting), result});
    }
  }
  if (request.wants_explanation) answer.explained = explain(trace);
  return answer;
}

}  // namespace tare
