// Rules about a run that was started several times, and by several ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/health/look.hpp"
#include "lib/trace/overwritten.hpp"

namespace tare {
namespace {

/// A rule grows once in so many steps at most, where nothing shows its window.
constexpr double least_usual_window = 100;
/// One step's change may lie between what was left and what the next start tells.
constexpr double octaves_of_a_step = 1;
/// More than that is no growth, but a scaler that began anew in the midst of a log.
constexpr double octaves_of_a_leap = 2;

/// Where the scale may be another scaler's than before.
struct Joint {
  double left = 0, resumed = 0;
  bool is_least = false;    ///< it may have resumed with more: steps that overflowed may lie in front of what is told
  bool is_sample = false;   ///< of a report, or of what an overflow left: no line that names the scale that overflowed
  bool is_counted = false;  ///< of steps that its report skipped: nothing tells how many of them moved the scale
  bool is_start = false;    ///< steps went back; else only the scale tells of a start
  double steps = 0;         ///< between the two, as far as numbers tell
  CoursePlace at;
};

bool is_scale(double value) {
  return std::isfinite(value) && value > 0;
}

/// Walks what is kept of a trace. A line without a number lies somewhere between the numbers around it.
class JointReader {
 public:
  explicit JointReader(const Examination& run) : trace_(run.trace), course_(run.course) {
    if (trace_.unit == "sample") step_length_ = static_cast<double>(run.course.stride);
  }

  std::vector<Joint> read() {
    Overwritten overwritten(trace_);
    for (const TraceStep& step : trace_.steps) {
      if (!overwritten.has(step)) take(step);
    }
    return std::move(joints_);
  }

 private:
  void take(const TraceStep& step) {
    const auto told = step.after ? step.after : step.scale;
    if (told) open(step);
    if (step.step) close(*step.step);
    if (!told) return;
    left_ = *told;
    left_at_ = reached_;
    segment_ = step.segment;
  }

  void open(const TraceStep& step) {
    const double told = step.scale.value_or(step.after.value_or(0));
    const double first = told * std::exp2(halvings_in(step));
    const bool may_have_fallen = step.overflow.value_or(true) || step.skipped.value_or(0) > 0;
    if (!is_scale(began_)) began_ = first;
    if (!left_at_ || !is_scale(left_) || !is_scale(first)) return;
    const bool is_start = step.segment != segment_;
    const bool is_as_at_first = std::abs(std::log2(first / began_)) <= octaves_of_a_step;
    if (!is_start && (!is_as_at_first || std::log2(first / left_) <= octaves_of_a_leap)) return;
    opened_at_ = left_at_;
    opened_ = {.left = left_,
               .resumed = first,
               .is_least = !step.scale && (may_have_fallen || step.span > 1),
               .is_sample = first == told && (!step.scale || (step.step && step.overflow != true)),
               .is_counted = first > told,
               .is_start = is_start,
               .at = place_of(step)};
  }

  /// Of a report that tells the scale at its end, and how many of its steps were skipped before: as many at least.
  /// Those that a hysteresis takes do not move the scale, a growth takes one back, and at a floor none does.
  [[nodiscard]] double halvings_in(const TraceStep& step) const {
    constexpr double usual_hysteresis = 2;
    if (step.scale || !step.after || !step.skipped || *step.after <= usual_floor || is_floor(*step.after)) return 0;
    const auto skipped = static_cast<double>(*step.skipped);
    const double growths = std::floor((static_cast<double>(step.span) - skipped) / least_usual_window);
    return std::max(skipped - (std::max(usual_hysteresis, course_.hysteresis) - 1) - growths, 0.0);
  }

  /// Overflows leave the scale there more than once, or it never moves at all.
  [[nodiscard]] bool is_floor(double scale) const {
    const auto stays = [&](const Stretch& stretch) {
      return stretch.is_top_told && stretch.before == scale && stretch.after == scale && stretch.overflows > 1;
    };
    const auto is_flat = [&](const Stretch& stretch) { return stretch.before == stretch.after; };
    return std::ranges::count_if(course_.stretches, stays) > 1 || std::ranges::all_of(course_.stretches, is_flat);
  }

  void close(std::int64_t number) {
    reached_ = number;
    if (!opened_) return;
    opened_->steps = static_cast<double>(std::max<std::int64_t>(number - *opened_at_, 0)) / step_length_;
    joints_.push_back(*std::exchange(opened_, {}));
  }

  const Trace& trace_;
  const Course& course_;
  std::vector<Joint> joints_;
  std::optional<Joint> opened_;  ///< the number behind it is still to come
  std::optional<std::int64_t> reached_, left_at_, opened_at_;
  double began_ = 0, left_ = 0, step_length_ = 1;
  std::uint32_t segment_ = 0;
};

/// The clean steps that a growth needs, at least. What looks like one at a joint is none.
double least_window(const Course& course, const std::vector<Joint>& joints) {
  std::optional<double> least;
  for (const ToldGrowth& growth : course.growths) {
    const auto is_at = [&](const Joint& joint) {
      return joint.at.line == growth.at.line && joint.at.step == growth.at.step && joint.at.source == growth.at.source;
    };
    if (std::ranges::none_of(joints, is_at)) least = std::min(least.value_or(growth.clean), growth.clean);
  }
  return least.value_or(least_usual_window);
}

/// Without a start, a scale that is told now and then may have grown in between, by however short a window.
bool is_another_scaler(const Joint& joint, double window) {
  if (!joint.is_start && joint.is_sample && joint.steps > 1) return false;
  const double octaves = std::log2(joint.resumed / joint.left);
  const double growths = std::floor(joint.steps / window);
  const bool is_sure = joint.is_start && !joint.is_counted;
  if (octaves > 0) return octaves > growths + (is_sure ? octaves_of_a_step : octaves_of_a_leap);
  return !joint.is_least && -octaves > octaves_of_a_step;
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
  if (run.trace.unit == "epoch") return;  // of thousands of steps each
  const std::vector<Joint> joints = JointReader(run).read();
  const double window = least_window(run.course, joints);
  const auto joint = std::ranges::find_if(joints, [&](const Joint& one) { return is_another_scaler(one, window); });
  if (joint == joints.end()) return;
  found.push_back({"reset-on-resume",
                   fmt::format("the run resumed with scale {}{}, and had left {}: its scaler was not restored",
                               float_text(joint->resumed), joint->is_least ? " or more" : "", float_text(joint->left)),
                   joint->at,
                   {{"left", joint->left}, {"resumed", joint->resumed}}});
}

}  // namespace tare
