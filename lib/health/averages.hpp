// What logs tell that print means or medians of the scale, or round it, and no step's own: BEiT, MAE, VideoMAE,
// mmengine, ESPnet, insightface.
#pragma once

#include <cstdint>

#include "lib/health/course.hpp"
#include "lib/health/thresholds.hpp"

namespace tare {

struct ScaleAverages {
  std::uint64_t reports = 0;
  double least = 0, greatest = 0;
  CoursePlace first;

  // ---- of the reports from the last one at thresholds.collapse_low_scale or above to the end
  std::uint64_t low_reports = 0;
  double top = 0;  ///< the greatest before them; 0 where there is none
  double last = 0;
  CoursePlace low_from;
};

/// Of the steps that were kept.
ScaleAverages averages_of(const Trace& trace, const Thresholds& thresholds);

}  // namespace tare
