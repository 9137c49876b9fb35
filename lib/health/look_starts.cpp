// Rules about a run that was started several times, and by several ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/text.hpp"
#include "lib/health/look.hpp"
#include "lib/trace/overwritten.hpp"

namespace tare {
namespace {

/// The scale that was left at a step, of those that a segment tells; nothing where it tells none.
struct Joint {
  std::optional<double> last;   ///< of the segment before, at the step from which the next one starts
  std::optional<double> first;  ///< that the next one starts with
  CoursePlace at;
};

/// Where each segment takes over from the one before.
std::vector<Joint> joints_of(const Trace& trace) {
  std::vector<Joint> joints(trace.segments.size());
  Overwritten overwritten(trace);
  for (const TraceStep& step : trace.steps) {
    if (step.segment >= joints.size()) continue;
    Joint& own = joints[step.segment];
    const bool is_first = !own.first && (step.scale || step.after);
    if (is_first) {
      const bool has_fallen = step.overflow.value_or(true) || step.skipped.value_or(0) > 0;
      own.at = place_of(step);
      if (step.scale) own.first = step.scale;
      if (!step.scale && !has_fallen && step.span == 1) own.first = step.after;
      if (!own.first) own.first = std::nan("");  // what it started with is not told
    }
    if (!overwritten.has(step) && step.segment + 1 < joints.size() && step.after) {
      joints[step.segment + 1].last = step.after;
    }
  }
  return joints;
}

}  // namespace

void look_for_disagreeing_ranks(const Examination& run, std::vector<Symptom>& found) {
  for (const TraceWarning& warning : run.trace.warnings) {
    for (const std::string_view code : {"ranks-disagree", "sources-disagree"}) {
      if (warning.code == code) found.push_back({code, warning.text, no_place, {}});
    }
  }
}

void look_for_unread_saves(const Examination& run, std::vector<Symptom>& found) {
  for (const TraceWarning& warning : run.trace.warnings) {
    for (const std::string_view code : {"save-not-read", "link-not-read", "folder-not-read"}) {
      if (warning.code == code) found.push_back({code, warning.text, no_place, {}});
    }
  }
}

void look_for_other_scalers(const Examination& run, std::vector<Symptom>& found) {
  for (const std::string_view code : {"mixed-scalers", "several-scalers"}) {
    const auto told = std::ranges::find(run.trace.warnings, code, &TraceWarning::code);
    if (told != run.trace.warnings.end()) found.push_back({code, told->text, no_place, {}});
  }
}

void look_for_restart_loop(const Examination& run, std::vector<Symptom>& found) {
  std::vector<std::int64_t> ends;
  for (const TraceSegment& segment : run.trace.segments) {
    if (segment.last) ends.push_back(*segment.last);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const double margin = run.thresholds.restart_share * std::abs(static_cast<double>(ends[i]));
    const auto near = std::ranges::count_if(
        ends, [&](std::int64_t end) { return std::abs(static_cast<double>(end - ends[i])) <= margin; });
    if (static_cast<double>(near) < run.thresholds.restarts) continue;
    found.push_back(
        {"restart-loop",
         fmt::format("{} starts of the run ended near step {}: what stops it there has not gone away", near, ends[i]),
         {ends[i], 0, 0, static_cast<std::uint32_t>(i)},
         {{"starts", static_cast<double>(near)}}});
    return;
  }
}

void look_for_reset(const Examination& run, std::vector<Symptom>& found) {
  for (const Joint& joint : joints_of(run.trace)) {
    if (!joint.first || !joint.last || !(*joint.last > 0) || !(*joint.first > 0)) continue;
    if (std::abs(std::log2(*joint.first / *joint.last)) <= 1) continue;  // one step's change may lie between
    found.push_back({"reset-on-resume",
                     fmt::format("the run resumed with scale {}, and had left {}: its scaler was not restored",
                                 float_text(*joint.first), float_text(*joint.last)),
                     joint.at,
                     {{"left", *joint.last}, {"resumed", *joint.first}}});
    return;
  }
}

}  // namespace tare
