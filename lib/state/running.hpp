// A scaler that runs, told step by step whether there was an overflow.
#pragma once

#include <cmath>

#include "kernels/rule/policy.hpp"

namespace tare {

inline double scale_of(const rule::RunningState& scaler) {
  return rule::scale_of(scaler.policy.id, scaler.state);
}

inline rule::Raised step(rule::RunningState& scaler, bool overflow) {
  return rule::advance(scaler.policy, scaler.state, overflow, scaler.counters).raised;
}

inline bool same_scale(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace tare
