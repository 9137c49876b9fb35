// A scaler's configuration: JSON with the keys of the state, and where it runs.
#pragma once

#include "lib/state/policy_state.hpp"

namespace tare {

struct ScalerConfig {
  RunningState start;
  unsigned threads = 1;
  int cuda_device = -1;            ///< below 0: the CPU
  double underflow_threshold = 0;  ///< what statistics count as below
  bool finite_statistics = false;  ///< lists tell of finite values beside others
};

/// Throws `invalid_argument` and names the allowed keys or range.
ScalerConfig parse_config(const char* json);

/// From where `state` stands; the configuration (null: none) may change parameters and say where it runs. Its policy,
/// if it names one, must be the state's; its variant one that keeps the same fields.
ScalerConfig parse_config(const char* json, const ScalerState& state);

}  // namespace tare
