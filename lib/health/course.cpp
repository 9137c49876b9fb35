#include "lib/health/course.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "lib/trace/overwritten.hpp"
#include "lib/trace/told_once.hpp"

namespace tare {
namespace {

/// Readings that are looked at to see how far apart their numbers are.
constexpr std::size_t readings_for_stride = 4096;
/// Clean steps after which a run is no longer at its start.
constexpr std::uint64_t start_ends_after = 64;
/// A run without step numbers is at its start where its scale is as great as frameworks begin with.
constexpr double least_usual_start = 0x1p15;
constexpr std::int64_t first_steps = 100;

/// The number that readings are most often apart.
std::int64_t stride_of(const Trace& trace) {
  std::map<std::int64_t, std::size_t> counts;
  std::optional<std::int64_t> before;
  std::size_t seen = 0;
  for (const TraceStep& step : trace.steps) {
    if (!step.step) continue;
    if (before && *step.step > *before) ++counts[*step.step - *before];
    before = step.step;
    if (++seen == readings_for_stride) break;
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 1 : most->first;
}

class CourseReader {
 public:
  explicit CourseReader(const Trace& trace) : trace_(trace), once_(trace) {
    course_.stride = stride_of(trace);
    is_by_sample_ = trace.unit == "sample";
  }

  Course read() {
    Overwritten overwritten(trace_);
    for (const TraceStep& step : trace_.steps) {
      if (!overwritten.has(step)) take(step);
    }
    find_falls();
    find_window();
    find_factors();
    return std::move(course_);
  }

 private:
  void take(const TraceStep& step) {
    if (step.segment != segment_) begin_segment(step.segment);
    course_.has_steps = course_.has_steps || step.step.has_value();
    if (!step.scale && !step.after && !step.overflow && !step.skipped) return;
    course_.has_scale = course_.has_scale || step.scale || step.after;
    if (is_broken(step)) return take_broken(step);
    if (course_.broken && !course_.broken->ended && (step.scale || step.after)) course_.broken->ended = place_of(step);
    if (is_rounded(step)) scale_.reset();
    course_.tells_skips = course_.tells_skips || step.overflow || step.skipped;
    const TraceStep rest = once_.rest_of(step);
    if (rest.span > 0) {
      Stretch stretch = stretch_of(rest, reach_of(step));
      if (rest.span < step.span && stretch.kind == StretchKind::clean) stretch.rest = rest.span;
      take(step, stretch);
    } else {
      last_step_ = step.step;
    }
  }

  /// Printed with too few decimals: it is not the scale of the step before any more, and no step's own.
  static bool is_rounded(const TraceStep& step) { return step.smoothed.value_or(1) < 1 && !step.scale && !step.after; }

  static bool is_broken(const TraceStep& step) {
    return !std::isfinite(step.scale.value_or(0)) || !std::isfinite(step.after.value_or(0));
  }

  [[nodiscard]] double last_number(const TraceStep& step) const {
    return step.scale && std::isfinite(*step.scale) ? *step.scale : scale_.value_or(0);
  }

  /// Whoever sets the scale anew behind it makes no growth and no fall of it.
  void take_broken(const TraceStep& step) {
    if (!course_.broken) {
      const double scale = step.scale && !std::isfinite(*step.scale) ? *step.scale : *step.after;
      course_.broken = {.began = place_of(step), .before = last_number(step), .scale = scale};
    }
    course_.broken->ended.reset();
    course_.broken->steps += step.span;
    course_.steps += step.span;
    course_.overflows += step.skipped.value_or(step.overflow == true ? step.span : 0);
    scale_.reset();
    if (step.step) last_step_ = step.step;
  }

  void take(const TraceStep& step, const Stretch& stretch) {
    if (step.skipped == 0U && stretch.after < stretch.before && course_.contradictions++ == 0) {
      course_.first_contradiction = stretch.first;
    }
    const bool is_unscaled = !scale_ && !step.scale && !step.after;
    if (!is_unscaled) scale_ = stretch.after;
    if (step.step) last_step_ = step.step;
    course_.steps += stretch.steps;
    course_.overflows += stretch.overflows;
    if (is_unscaled) {  // a report without a scale, and none was told before: no stretch at some scale
      unscaled_ += stretch.steps;
      return;
    }
    if (!continues(stretch)) {
      course_.stretches.push_back(stretch);
      return;
    }
    Stretch& whole = course_.stretches.back();
    whole.steps += stretch.steps;
    whole.most_steps += stretch.most_steps;
    whole.unseen_within += stretch.unseen_before;
    whole.at_told += stretch.at_told;
    whole.sampled += stretch.sampled;
    whole.overflows += stretch.overflows;
    whole.after = stretch.after;
    whole.is_fatal = whole.is_fatal || stretch.is_fatal;
    if (stretch.last_step) whole.last_step = stretch.last_step;
  }

  void begin_segment(std::uint32_t segment) {
    segment_ = segment;
    scale_.reset();
    last_step_.reset();
  }

  /// `reach`: how far behind the reading before it the step may stand so that nothing lies between.
  Stretch stretch_of(const TraceStep& step, std::int64_t reach) const {
    Stretch stretch;
    stretch.first = place_of(step);
    stretch.last_step = step.step;
    stretch.before = step.scale.value_or(came_down(step) ? 2 * *step.after : scale_.value_or(step.after.value_or(0)));
    stretch.after = step.after.value_or(stretch.before);
    stretch.grew_before = scale_ && stretch.before > *scale_;
    stretch.steps = covered_by(step);
    const bool has_gap = step.span == 1 && step.step && !is_by_sample_;
    stretch.most_steps = std::max(stretch.steps, has_gap ? static_cast<std::uint64_t>(course_.stride) : 0);
    stretch.is_top_told = stretch.steps == 1 || step.scale || (scale_ && !came_down(step));
    if (step.scale || step.after) stretch.at_told = stretch.steps;
    if (is_sampled(step)) stretch.sampled = stretch.steps;
    stretch.is_fatal = step.fatal;
    const std::int64_t distance = step.step && last_step_ ? *step.step - *last_step_ : 0;
    stretch.is_adjacent = distance <= reach && !step.apart;
    if (distance > reach) stretch.unseen_before = unseen_in(distance, stretch.steps);
    count_overflows(step, stretch);
    return stretch;
  }

  /// Told alone is what an overflow left. A line without a number that names the scale of the one before is of a scale
  /// that grew in between, as it does every thousand steps or two; unless it is so low that it may be the floor.
  [[nodiscard]] bool came_down(const TraceStep& step) const {
    if (step.overflow != true || !step.after) return false;
    const bool may_stay = *step.after <= usual_floor && trace_.sources[step.source].kind != without_floor;
    return !scale_ || (!step.step && *step.after >= *scale_ && !may_stay);
  }

  [[nodiscard]] std::int64_t reach_of(const TraceStep& step) const {
    return std::max(static_cast<std::int64_t>(step.span), course_.stride);
  }

  /// A bare scale of every tenth step stands for the steps since the one before, and a save that tells no step for as
  /// many as its scale's fall takes.
  [[nodiscard]] std::uint64_t covered_by(const TraceStep& step) const {
    const bool is_save = !step.step && trace_.sources[step.source].kind == "checkpoint";
    if (is_save && scale_ && step.after) return std::max(step.span, halvings_between(*scale_, *step.after));
    return is_sampled(step) ? static_cast<std::uint64_t>(course_.stride) : step.span;
  }

  [[nodiscard]] bool is_sampled(const TraceStep& step) const {
    const bool is_bare = step.span == 1 && !step.overflow && !step.skipped;
    return is_bare && !is_by_sample_ && course_.stride > 1 && step.step && last_step_;
  }

  /// Of steps that lie so far apart, the later one of a reading that covers some.
  [[nodiscard]] std::uint64_t unseen_in(std::int64_t distance, std::uint64_t covered) const {
    const auto steps = static_cast<std::uint64_t>(is_by_sample_ ? distance / course_.stride : distance);
    return steps - std::min(steps, covered);
  }

  /// That a fall of the scale takes at least; 1 where it fell by less, or to 0, and none where it did not.
  static std::uint64_t halvings_between(double before, double after) {
    constexpr double most = 0x1p32;  // twice the last power of two is infinite, and as many octaves above it
    if (!(before > after)) return 0;
    const double octaves = after > 0 ? std::log2(before / after) : 1;
    return static_cast<std::uint64_t>(std::clamp(std::ceil(octaves - 0.01), 1.0, most));
  }

  static void count_overflows(const TraceStep& step, Stretch& stretch) {
    stretch.is_told = step.overflow.has_value() || step.skipped.has_value();
    const std::uint64_t told = step.skipped.value_or(step.overflow == true ? stretch.steps : 0);
    const std::uint64_t least = std::max(told, halvings_between(stretch.before, stretch.after));
    stretch.overflows = std::min(least, stretch.steps);
    stretch.kind = stretch.overflows == 0               ? StretchKind::clean
                   : stretch.overflows == stretch.steps ? StretchKind::overflow
                                                        : StretchKind::mixed;
  }

  /// The same again: clean steps at one scale, or overflows that leave it where it is.
  [[nodiscard]] bool continues(const Stretch& stretch) const {
    if (course_.stretches.empty()) return false;
    const Stretch& last = course_.stretches.back();
    if (stretch.kind != last.kind || stretch.kind == StretchKind::mixed) return false;
    if (stretch.first.segment != last.first.segment || stretch.first.source != last.first.source) return false;
    if (stretch.kind == StretchKind::overflow && !stretch.is_adjacent) return false;
    return last.before == last.after && stretch.before == last.after && stretch.after == stretch.before;
  }

  // ---- what comes of the stretches

  void find_falls() {
    auto& all = course_.stretches;
    bool is_start = begins_a_run();
    std::uint64_t clean = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0 && all[i].first.segment != all[i - 1].first.segment) clean = 0;
      if (all[i].grew_before || all[i].after > all[i].before) is_start = false;
      if (i > 0 && begins_anew(i)) is_start = true;
      if (all[i].kind == StretchKind::clean) {
        clean += all[i].steps;
        if (clean >= start_ends_after) is_start = false;
        if (!course_.falls.empty() && course_.falls.back().last + 1 == i) end_at(course_.falls.back(), all[i], clean);
        continue;
      }
      if (!joins(i)) course_.falls.push_back({.first = i, .top = all[i].before, .is_at_start = is_start});
      extend(course_.falls.back(), i);
      clean = 0;
    }
    for (const Fall& fall : course_.falls) find_hysteresis(fall);
  }

  [[nodiscard]] bool begins_a_run() const {
    if (course_.stretches.empty() || unscaled_ >= start_ends_after) return false;
    const Stretch& first = course_.stretches.front();
    if (first.first.step) return *first.first.step <= first_steps * course_.stride;
    return first.before >= least_usual_start;
  }

  /// A scaler that was not restored looks for its scale from where the first one began.
  [[nodiscard]] bool begins_anew(std::size_t i) const {
    constexpr double least_leap = 4;
    const auto& all = course_.stretches;
    const bool is_as_at_first = all[i].before <= all.front().before && 2 * all[i].before >= all.front().before;
    return all.front().before >= least_usual_start && is_as_at_first && all[i].before > least_leap * all[i - 1].after;
  }

  /// Nothing lies between but the rest of a report, which may as well stand before its overflows.
  [[nodiscard]] bool joins(std::size_t i) const {
    const auto& all = course_.stretches;
    if (course_.falls.empty()) return false;
    const std::size_t last = course_.falls.back().last;
    const bool is_next =
        last + 1 == i || (last + 2 == i && all[i - 1].is_rest() && all[i - 1].is_adjacent && is_row(i));
    return is_next && all[i].is_adjacent && !all[i].grew_before && !all[i].is_level() && !all[last].is_level() &&
           all[i].first.segment == all[last].first.segment;
  }

  static void end_at(Fall& fall, const Stretch& behind, std::uint64_t clean) {
    fall.clean_after = clean;
    fall.most_steps += behind.rest;
  }

  /// With the rest of a report between that stretch and the last fall, where all of it must lie between.
  [[nodiscard]] bool is_row(std::size_t i) const {
    const auto& all = course_.stretches;
    const Fall& fall = course_.falls.back();
    const std::uint64_t steps = fall.steps + clean_behind_ + all[i - 1].steps + all[i].overflows;
    return rest_may_lie_before_ || 2 * (fall.overflows + all[i].overflows) >= steps;
  }

  /// Of an interval at either end of a fall only the overflows need be part of it.
  void extend(Fall& fall, std::size_t i) {
    const Stretch& stretch = course_.stretches[i];
    const bool begins = fall.overflows == 0;
    const std::uint64_t rest = !begins && fall.last + 1 < i ? course_.stretches[i - 1].steps : 0;
    if (!begins) fall.steps += clean_behind_ + (rest_may_lie_before_ ? 0 : rest);
    fall.steps += stretch.overflows;
    fall.most_steps += stretch.most_steps;
    left_out_ = begins ? 0 : left_out_ + (rest_may_lie_before_ ? rest : 0);
    clean_behind_ = begins ? 0 : stretch.steps - stretch.overflows;
    fall.whole_steps = fall.steps + clean_behind_ + left_out_;
    rest_may_lie_before_ = (begins || (rest_may_lie_before_ && rest == 0)) && stretch.kind == StretchKind::overflow;
    fall.last = i;
    fall.overflows += stretch.overflows;
    fall.bottom = stretch.after;
    fall.clean_after = 0;
    fall.is_fatal = fall.is_fatal || stretch.is_fatal;
  }

  /// Overflows at one scale before it went down.
  void find_hysteresis(const Fall& fall) {
    const auto& all = course_.stretches;
    for (std::size_t i = fall.first; i < fall.last; ++i) {
      const bool stays = all[i].before == all[i].after && all[i].is_told && all[i].kind == StretchKind::overflow;
      const bool falls = all[i + 1].after < all[i + 1].before;
      if (stays && falls && all[i].overflows < 8) {
        course_.hysteresis = std::max(course_.hysteresis, static_cast<double>(all[i].overflows) + 1);
      }
    }
  }

  /// Clean steps from an overflow or a growth to the next growth: at least a window each.
  void find_window() {
    double clean = 0;
    bool is_counted = false;  // since an event that the trace tells
    for (std::size_t i = 0; i < course_.stretches.size(); ++i) {
      const Stretch& stretch = course_.stretches[i];
      if (i == 0 || stretch.first.segment != course_.stretches[i - 1].first.segment) is_counted = false;
      clean += static_cast<double>(stretch.unseen_before);
      if (stretch.grew_before && is_counted) {
        put_growth(stretch.first, clean / std::max(1.0, std::log2(stretch.before / course_.stretches[i - 1].after)));
      }
      if (stretch.grew_before) clean = 0;
      if (stretch.kind == StretchKind::clean) clean += static_cast<double>(stretch.steps + stretch.unseen_within);
      const bool has_grown = stretch.after > stretch.before && stretch.kind == StretchKind::clean;
      if (has_grown && is_counted) put_growth(stretch.first, clean);
      if (!has_grown && stretch.kind == StretchKind::clean) continue;
      clean = 0;
      is_counted = true;
    }
  }

  void put_growth(const CoursePlace& at, double clean) {
    if (clean < 1) return;
    course_.growths.push_back({at, clean});
    course_.window = std::min(course_.window.value_or(INFINITY), clean);
    course_.longest_window = std::max(course_.longest_window.value_or(0), clean);
  }

  void find_factors() {
    double up = 1;
    double down = INFINITY;
    for (const Stretch& stretch : course_.stretches) {
      if (!(stretch.before > 0) || !(stretch.after > 0) || stretch.steps != 1) continue;
      const double octaves = std::log2(stretch.after / stretch.before);
      if (octaves > 0) up = std::max(up, octaves);
      if (octaves < 0) down = std::min(down, -octaves);
    }
    if (std::isfinite(down)) course_.backoffs_a_growth = std::max(1.0, std::ceil(std::min(up, 8.0) / down));
  }

  const Trace& trace_;
  ToldOnce once_;
  Course course_;
  std::uint32_t segment_ = 0;
  std::optional<double> scale_;
  std::optional<std::int64_t> last_step_;
  std::uint64_t unscaled_ = 0;  ///< steps of which no scale is known
  bool is_by_sample_ = false;
  std::uint64_t clean_behind_ = 0;    ///< of the interval that the last fall ends in: its own, if the fall goes on
  std::uint64_t left_out_ = 0;        ///< of the reports' rests in it, what may lie before it
  bool rest_may_lie_before_ = false;  ///< the last fall began in the report that it has come to
};

}  // namespace

double Fall::octaves() const {
  if (!(top > bottom)) return 0;
  return bottom > 0 ? std::log2(top / bottom) : std::log2(top) + 149;
}

CoursePlace place_of(const TraceStep& step) {
  return {step.step, step.line, step.source, step.segment};
}

Course course_of(const Trace& trace) {
  return CourseReader(trace).read();
}

}  // namespace tare
