// What logs tell that print means or medians of the scale, or round it, and no step's own: BEiT, MAE, VideoMAE,
// mmengine, ESPnet, insightface.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "lib/health/course.hpp"
#include "lib/health/thresholds.hpp"

namespace tare {

struct ScaleAverages {
  std::uint64_t reports = 0;
  double least = INFINITY, greatest = -INFINITY;  ///< of those that are numbers
  CoursePlace first;
  std::optional<double> told;  ///< the last scale that a step told as its own, where any did

  // ---- of the reports at the end that are inf or nan, and of no others below
  std::uint64_t broken_reports = 0;
  double broken = 0;
  CoursePlace broken_from;

  // ---- of the reports from the last one at thresholds.collapse_low_scale or above to the end
  std::uint64_t low_reports = 0;
  double top = 0;  ///< the greatest before them; 0 where there is none
  double last = 0;
  CoursePlace low_from;
};

/// Of the steps that were kept.
ScaleAverages averages_of(const Trace& trace, const Thresholds& thresholds);

}  // namespace tare
