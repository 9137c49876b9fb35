// What a scaler tells of itself.
#pragma once

#include <string>

#include "kernels/launch.hpp"
#include "kernels/rule/policy.hpp"

namespace tare {

struct ScalerReport {
  double scale;
  bool found_inf;
  rule::Counters counters;
  kernels::Statistics accumulated;  ///< since the last update
  kernels::Statistics last_step;    ///< what the last update had
  double threshold;
};

/// "tare.statistics/1"
std::string statistics_json(const ScalerReport& report);

}  // namespace tare
