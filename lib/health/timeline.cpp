#include "lib/health/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/health/course.hpp"

namespace tare {
namespace {

/// Where a stretch stands on the axis: by its step, or where there are no numbers, by its place in the log.
double at_of(const Course& course, const Stretch& stretch, double told) {
  return course.has_steps && stretch.first.step ? static_cast<double>(*stretch.first.step) : told;
}

chart::Curve curve_of(const Course& course, const std::string& unit) {
  chart::Curve curve;
  curve.unit = course.has_steps ? unit : "line that tells of the scale";
  double told = 0;
  for (const Stretch& stretch : course.stretches) {
    const double at = at_of(course, stretch, told);
    if (curve.points.empty() || curve.points.back().value != stretch.before)
      curve.points.push_back({at, stretch.before});
    told += static_cast<double>(stretch.steps);
    const double end = course.has_steps && stretch.last_step ? static_cast<double>(*stretch.last_step) : told;
    if (stretch.after != stretch.before) curve.points.push_back({end, stretch.after});
    const std::uint64_t shown = std::min<std::uint64_t>(stretch.overflows, 10'000);
    for (std::uint64_t i = 0; i < shown; ++i) {
      curve.events.push_back(std::min(at + static_cast<double>(i), std::max(at, end)));
    }
    curve.last_x = end;
  }
  std::ranges::stable_sort(curve.points, {}, &chart::Point::x);
  std::ranges::sort(curve.events);
  return curve;
}

/// Adds what lies between two checkpoints to the later one.
void add_between(std::vector<TimelineRow>& rows, const Course& course) {
  for (const Stretch& stretch : course.stretches) {
    if (!stretch.first.step) continue;
    const auto row = std::ranges::find_if(rows, [&](const TimelineRow& candidate) {
      return candidate.checkpoint.step && *stretch.first.step <= *candidate.checkpoint.step;
    });
    if (row == rows.end()) continue;
    row->overflows += stretch.overflows;
    row->growths += stretch.grew_before || stretch.after > stretch.before ? 1 : 0;
    const auto [low, high] = std::minmax(stretch.before, stretch.after);
    row->lowest = std::min(row->lowest.value_or(low), low);
    row->highest = std::max(row->highest.value_or(high), high);
  }
}

std::string label_of(const TimelineRow& row) {
  const auto scale = row.checkpoint.scale();
  return fmt::format("{}{}{}", row.checkpoint.path, scale ? ", scale " + float_text(*scale) : "",
                     row.is_last_healthy ? ", the last healthy one" : "");
}

/// Without logs the checkpoints are the curve.
void draw_checkpoints(Timeline& timeline) {
  const bool has_curve = !timeline.curve.points.empty();
  for (const TimelineRow& row : timeline.rows) {
    const auto scale = row.checkpoint.scale();
    if (!row.checkpoint.step || !scale) continue;
    const auto at = static_cast<double>(*row.checkpoint.step);
    timeline.curve.marks.push_back({at, *scale, label_of(row), row.is_last_healthy, row.is_sick});
    if (has_curve) continue;
    timeline.curve.points.push_back({at, *scale});
    timeline.curve.last_x = at;
  }
}

}  // namespace

Timeline timeline_of(const Trace& trace, const std::vector<std::string>& targets, const Thresholds& thresholds) {
  Timeline timeline{.targets = targets, .unit = trace.unit};
  const Course course = course_of(trace);
  if (!course.has_scale && trace.checkpoints.empty()) {
    throw Error(Status::not_found, fmt::format("{}: no scale is told of, and no checkpoint is there", targets.front()),
                "`tare trace` names what it reads");
  }
  timeline.findings = examine(trace, thresholds);
  auto not_read = unread_files(trace);
  if (!not_read.empty()) {
    std::erase_if(timeline.findings, [](const HealthFinding& finding) { return finding.code == "healthy"; });
    std::ranges::move(not_read, std::back_inserter(timeline.findings));
    put_gravest_first(timeline.findings);
  }
  const auto trouble = std::ranges::find_if(
      timeline.findings, [](const HealthFinding& finding) { return finding.severity != Severity::note; });
  for (const TraceCheckpoint& checkpoint : trace.checkpoints) {
    timeline.rows.push_back({.checkpoint = checkpoint, .is_sick = is_sick(checkpoint)});
  }
  const bool has_sick = std::ranges::any_of(timeline.rows, &TimelineRow::is_sick);
  if (trouble != timeline.findings.end()) {
    timeline.last_healthy = healthy_before(trace, trouble->step, 1);
  } else if (has_sick) {
    std::erase_if(timeline.findings, [](const HealthFinding& finding) { return finding.code == "healthy"; });
    timeline.last_healthy = healthy_before(trace, std::nullopt, 1);
  }
  name_healthy(timeline.findings, timeline.last_healthy, trace);
  for (TimelineRow& row : timeline.rows) {
    row.is_last_healthy = timeline.last_healthy && row.checkpoint.path == timeline.last_healthy->path &&
                          row.checkpoint.step == timeline.last_healthy->step;
  }
  add_between(timeline.rows, course);
  timeline.curve = curve_of(course, trace.unit);
  timeline.curve.title = targets.front();
  draw_checkpoints(timeline);
  return timeline;
}

}  // namespace tare
