#include "lib/health/simulation.hpp"

namespace tare {
namespace {

/// Each setting from each scale that the run may have begun with; what any of them leads to may be.
std::vector<SimulatedRun> runs_of(const ObservedRun& observed, const SimulationRequest& request) {
  std::vector<std::optional<double>> starts(observed.first_scales.begin(), observed.first_scales.end());
  if (starts.empty()) starts.emplace_back();
  std::vector<SimulatedRun> runs;
  for (const std::optional<double>& first : starts) {
    std::vector<SimulatedSetting> settings = settings_of(request.sweep, first);
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const Simulated result = simulate(observed, settings[i].start, request.options);
      if (i == runs.size()) {
        runs.push_back({std::move(settings[i]), result});
      } else {
        include(runs[i].result, result);
      }
    }
  }
  return runs;
}

}  // namespace

Simulation simulation_of(const Trace& trace, const Trace* maxima, const SimulationRequest& request) {
  Simulation answer{.targets = request.targets,
                    .below = request.options.below,
                    .observed = observe(trace, request.options.below, maxima),
                    .runs = {},
                    .explained = {}};
  if (request.wants_sweep) answer.runs = runs_of(answer.observed, request);
  if (request.wants_explanation) answer.explained = explain(trace);
  return answer;
}

}  // namespace tare
