// What was seen of a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/dtype.hpp"
#include "kernels/finite_values.hpp"
#include "kernels/statistics.hpp"
#include "lib/base/health_finding.hpp"
#include "lib/monitor/summary.hpp"
#include "lib/monitor/trend.hpp"

namespace tare::monitor {

/// A tensor that was looked at.
struct Observed {
  std::string group;
  std::string name;
  Dtype dtype = Dtype::f32;
  Summary summary;
  std::optional<std::size_t> same_as;  ///< place of the step's tensor whose summary this gets once there is one
};

/// How many looks in a row something held, and since which step.
struct Streak {
  double looks = 0;
  std::int64_t began = 0;

  void add(bool holds, std::int64_t step);
  friend bool operator==(const Streak&, const Streak&) = default;
};

/// A tensor's gradients, as a list's pass over them found them: still scaled.
struct Gradient {
  std::string name;
  Dtype dtype = Dtype::f32;
  kernels::Statistics seen;
  std::optional<kernels::FiniteValues> finite;  ///< where the scaler has them counted
  double threshold = 0;                         ///< of seen.below
  std::optional<double> lost;                   ///< share of values
  std::optional<double> headroom_bits;          ///< doublings that the greatest magnitude can take
  Streak all_zero;                              ///< all of them were, up to now; of none that is ignored
};

/// How the scaler of the gradients stood when they were added.
struct ScalerSeen {
  double scale = 1;
  std::int64_t steps = 0;  ///< that it has made, those that were skipped among them
  std::int64_t skipped = 0;
  std::int64_t growths = 0;
  std::int64_t backoffs = 0;

  friend bool operator==(const ScalerSeen&, const ScalerSeen&) = default;
};

/// What the gradients of a step, and of those before it, tell as a whole; nothing where they do not tell it.
struct Signals {
  std::optional<double> lost;           ///< share of all values but those of tensors that are ignored
  std::optional<double> headroom_bits;  ///< of the tensor that has the least
  std::uint64_t layers = 0;             ///< tensors of gradients, but for those that are ignored
  std::optional<double> layers_lost;    ///< share of them that lost as much as is told
  std::optional<double> layers_zero;    ///< share of them with that many zeros, of whatever cause
  Trend lost_trend;                     ///< over the last looks
};

/// A step that was looked at, or, without a number yet, the one under way.
struct ObservedStep {
  std::int64_t step = 0;
  std::vector<Observed> tensors;
  std::vector<Gradient> gradients;
  std::optional<ScalerSeen> scaler;  ///< of the last list that was added
  Signals signals;
  std::vector<HealthFinding> findings;  ///< that hold now, the gravest first
};

}  // namespace tare::monitor
