#include "lib/health/averages.hpp"

#include <algorithm>
#include <cmath>

namespace tare {

ScaleAverages averages_of(const Trace& trace, const Thresholds& thresholds) {
  ScaleAverages averages;
  for (const TraceStep& step : trace.steps) {
    if (!step.smoothed || is_overwritten(trace, step)) continue;
    const double scale = *step.smoothed;
    const CoursePlace place = place_of(step);
    if (averages.reports++ == 0) averages.first = place;
    if (!std::isfinite(scale)) {
      if (averages.broken_reports++ > 0) continue;
      averages.broken = scale;
      averages.broken_from = place;
      continue;
    }
    averages.broken_reports = 0;
    averages.least = std::min(averages.least, scale);
    averages.greatest = std::max(averages.greatest, scale);
    averages.last = scale;
    if (scale >= thresholds.collapse_low_scale) {
      averages.top = averages.greatest;
      averages.low_reports = 0;
    } else if (averages.low_reports++ == 0) {
      averages.low_from = place;
    }
  }
  return averages;
}

}  // namespace tare
