// What other settings, or another framework's rule, would have done in a run that was recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/rule/running.hpp"
#include "lib/health/observed.hpp"
#include "lib/health/scaler_set.hpp"
#include "lib/state/value.hpp"

namespace tare {

/// What is to be tried; every combination is one setting. An empty list: the policy's default.
struct Sweep {
  std::string policy = "torch";
  std::string variant = {};
  std::vector<double> windows = {}, hysteresis = {}, floors = {}, initial_scales = {};
  StateSection parameters = {};  ///< further ones, by name or role, the same in all settings
};

/// A policy with its parameters, and what it was told beyond its defaults.
struct SimulatedSetting {
  rule::RunningState start;
  std::vector<std::pair<std::string, double>> told;
  std::vector<rule::RuleState> also = {};  ///< other states that the run may have begun in
};

/// Throws `invalid_argument` for a policy that there is not, a parameter that it lacks, or values that do not go
/// together. Without an initial scale, told so or as a parameter, the run starts with any of `first_scales` that the
/// policy can hold; throws the same where it can hold none of them.
std::vector<SimulatedSetting> settings_of(const Sweep& sweep, const std::vector<double>& first_scales);

struct SimulateOptions {
  double below = 1024;                   ///< steps with a smaller scale are counted
  std::size_t most_states = 20'000;      ///< that are followed side by side
  std::uint64_t most_work = 20'000'000;  ///< steps of states
};

/// From what is sure to what is possible.
struct Simulated {
  std::uint64_t steps = 0;  ///< of the trace
  Between skipped;          ///< steps
  Between below;            ///< steps that ran with a scale below the one asked for
  Between mean_log2;        ///< of the scale; only where `bounded_until` is all steps
  std::uint64_t bounded_until =
      0;  ///< behind this step there are more possibilities than are followed: anything may be
  bool dies_surely = false, dies_possibly = false;
  std::optional<std::uint64_t> first_death;  ///< the earliest step, counted from 1
};

Simulated simulate(const ObservedRun& run, const SimulatedSetting& setting, const SimulateOptions& options = {});

}  // namespace tare
