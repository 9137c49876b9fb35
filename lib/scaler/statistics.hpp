// What a scaler tells of itself.
#pragma once

#include <string>
#include <vector>

#include "kernels/finite_values.hpp"
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

/// What a list's last pass found.
struct GradsReport {
  bool found_inf;
  double threshold;
  kernels::Statistics total;
  std::vector<kernels::Statistics> tensors;   ///< in the list's order
  std::vector<kernels::FiniteValues> finite;  ///< of each of them; none where they are not counted
  bool is_of_all_ranks;                       ///< `total`, in which others' values are then; the rest is this rank's
};

/// "tare.grads/1"
std::string statistics_json(const GradsReport& report);

}  // namespace tare
