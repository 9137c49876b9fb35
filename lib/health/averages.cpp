#include "lib/health/averages.hpp"

#include <algorithm>
#include <cmath>

#include "lib/trace/overwritten.hpp"

namespace tare {
namespace {

/// Behind a scale of its own the reports before it are not the run's end any more.
void take_told(double scale, ScaleAverages& averages) {
  averages.told = scale;
  averages.broken_reports = averages.low_reports = 0;
}

}  // namespace

ScaleAverages averages_of(const Trace& trace, const Thresholds& thresholds) {
  ScaleAverages averages;
  Overwritten overwritten(trace);
  for (const TraceStep& step : trace.steps) {
    if (overwritten.has(step)) continue;
    if (const auto told = step.after ? step.after : step.scale) take_told(*told, averages);
    if (!step.smoothed) continue;
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
