// Rules about where the scale stands and how often steps overflow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/text.hpp"
#include "lib/health/look.hpp"

namespace tare {
namespace {

/// icefall begins at 1 and doubles by hand; it warns below this itself (icefall: train.py).
constexpr double icefall_low_scale = 0.01;
constexpr double last_steps = 1000;
constexpr std::uint64_t least_readings_unscaled = 5;

bool is_never_scaled(const Course& course) {
  return course.steps >= least_readings_unscaled && !course.stretches.empty() &&
         std::ranges::all_of(course.stretches, [](const Stretch& stretch) {
           return stretch.before == 1 && stretch.after == 1 && stretch.kind != StretchKind::overflow;
         });
}

/// Clean steps are told of, or counted, and not overflows alone: shares of steps mean something.
bool tells_all_steps(const Course& course) {
  const auto is_counted = [](const Stretch& stretch) { return stretch.kind == StretchKind::mixed && stretch.is_told; };
  return course.steps > 2 * course.overflows || std::ranges::any_of(course.stretches, is_counted);
}

/// mindyolo's lines tell the scale behind an overflow, and its static scaler, which it has by default, leaves it as it
/// was: no fall is to be concluded.
bool may_be_static(const Examination& run) {
  const auto& all = run.course.stretches;
  return is_of_kind(run, "mindyolo-log") && run.course.overflows > 1 && !all.empty() &&
         std::ranges::all_of(all, [&](const Stretch& stretch) {
           return stretch.kind == StretchKind::overflow && stretch.after == all.front().after;
         });
}

}  // namespace

void look_for_static_scale(const Examination& run, std::vector<Symptom>& found) {
  if (!may_be_static(run)) return;
  const double scale = run.course.stretches.front().after;
  found.push_back({"static-scale",
                   fmt::format("{} overflows are told, and the scale behind each is {}: a static scaler does not move "
                               "with them (mindyolo's is, unless it is told otherwise), or it grew back in between",
                               run.course.overflows, float_text(scale)),
                   run.course.stretches.front().first,
                   {{"overflows", static_cast<double>(run.course.overflows)}, {"scale", scale}}});
}

void look_for_unscaled(const Examination& run, std::vector<Symptom>& found) {
  if (!is_never_scaled(run.course)) return;
  found.push_back(
      {"not-scaled",
       fmt::format("the scale is 1 throughout ({} steps): bfloat16 or float32, which need none", run.course.steps),
       run.course.stretches.front().first,
       {{"steps", static_cast<double>(run.course.steps)}}});
}

void look_for_low_scale(const Examination& run, std::vector<Symptom>& found) {
  if (is_never_scaled(run.course)) return;
  double told = 0;
  bool is_exact = true;
  std::vector<std::pair<double, double>> last;  // scale at most, steps
  const auto& all = run.course.stretches;
  std::size_t first = all.size();
  std::optional<double> behind;  // what the steps up to a told one came to
  while (first > 0 && told < last_steps) {
    const Stretch& stretch = all[--first];
    if (first + 1 < all.size() && stretch.first.segment != all[first + 1].first.segment) behind.reset();
    const std::uint64_t steps = stretch.at_told > 0 ? stretch.at_told : behind ? stretch.steps : 0;
    if (steps == 0) continue;
    const bool is_told = stretch.at_told > 0;
    is_exact = is_exact && is_told;
    const double counted = std::min(static_cast<double>(steps), last_steps - told);
    last.emplace_back(is_told ? stretch.after : std::max(stretch.after, *behind), counted);
    told += counted;
    if (is_told) behind = stretch.before;
  }
  const double limit = is_of_kind(run, "icefall-log") ? icefall_low_scale : run.thresholds.low_scale;
  const bool is_short = told < run.thresholds.low_scale_steps;
  if (is_short && std::ranges::any_of(all, [&](const Stretch& stretch) { return stretch.before >= limit; })) return;
  std::sort(last.begin(), last.end());
  double below = 0;
  const auto median = std::find_if(last.begin(), last.end(), [&](const auto& part) {
    below += part.second;
    return 2 * below >= told;
  });
  if (last.empty() || median->first >= limit) return;
  found.push_back(
      {"low-scale",
       fmt::format(
           "{} is {}{}: gradients below {} become 0 in float16. If the loss is a sum, divide it",
           told == 1 ? "the scale of the last step" : fmt::format("the median scale of the last {} steps", told),
           is_exact ? "" : "at most ", float_text(median->first), float_text(0x1p-24 / median->first)),
       all[first].first,
       {{"median", median->first}, {"limit", limit}}});
}

void look_for_many_overflows(const Examination& run, std::vector<Symptom>& found) {
  const Course& course = run.course;
  if (!tells_all_steps(course) || is_never_scaled(course)) return;
  const double length = run.thresholds.overflow_share_steps;
  const double usual = course.window ? 2 * course.hysteresis * course.backoffs_a_growth / *course.window + 0.005 : 0;
  const double limit = std::max(run.thresholds.overflow_share, usual);
  std::vector<bool> is_start(course.stretches.size());
  for (const Fall& fall : course.falls) {
    for (std::size_t i = fall.first; fall.is_at_start && i <= fall.last; ++i) is_start[i] = true;
  }
  const auto are_many = [&](double overflows, double steps, const CoursePlace& from) {
    const double share = overflows / std::max(steps, length);
    if (steps < length / 2 || share <= limit) return false;
    found.push_back({"too-many-overflows",
                     fmt::format("{} of {} steps were skipped ({:.1f} %); a healthy run skips {:.1f} % at most",
                                 overflows, std::max(steps, length), 100 * share, 100 * limit),
                     from,
                     {{"overflows", overflows}, {"steps", steps}, {"limit", limit}}});
    return true;
  };
  if (course.stretches.empty()) {  // counts alone, and no scale
    are_many(static_cast<double>(course.overflows), static_cast<double>(course.steps), {});
    return;
  }
  double steps = 0;
  double overflows = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < course.stretches.size(); ++i) {
    const Stretch& stretch = course.stretches[i];
    steps += static_cast<double>(stretch.steps);
    if (!is_start[i]) overflows += static_cast<double>(stretch.overflows);
    while (first < i && steps - static_cast<double>(course.stretches[first].steps) >= length) {
      steps -= static_cast<double>(course.stretches[first].steps);
      if (!is_start[first]) overflows -= static_cast<double>(course.stretches[first].overflows);
      ++first;
    }
    if (are_many(overflows, steps, course.stretches[first].first)) return;
  }
}

void look_for_oscillation(const Examination& run, std::vector<Symptom>& found) {
  if (may_be_static(run)) return;
  const auto& all = run.course.stretches;
  const double soon = std::max(0.02 * run.course.window.value_or(0), 2.0);
  double ceiling = 0;
  std::uint64_t hits = 0;
  CoursePlace began;
  double clean = soon + 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Stretch& stretch = all[i];
    if (stretch.grew_before) clean = 0;
    if (stretch.kind == StretchKind::clean) {
      clean = stretch.after > stretch.before ? 0 : clean + static_cast<double>(stretch.steps);
      continue;
    }
    if (clean > soon) continue;
    if (stretch.before != ceiling) {
      if (static_cast<double>(hits) >= run.thresholds.ceiling_hits) break;
      ceiling = stretch.before;
      hits = 0;
      began = stretch.first;
    }
    ++hits;
    clean = soon + 1;
  }
  if (static_cast<double>(hits) < run.thresholds.ceiling_hits) return;
  found.push_back({"oscillating",
                   fmt::format("{} growths to {} overflowed at once: that is the ceiling of these gradients. It costs "
                               "a step each time",
                               hits, float_text(ceiling)),
                   began,
                   {{"hits", static_cast<double>(hits)}, {"ceiling", ceiling}}});
}

void look_for_frozen(const Examination& run, std::vector<Symptom>& found) {
  if (is_never_scaled(run.course)) return;
  const auto window = is_of_kind(run, "icefall-log") ? std::nullopt : run.course.longest_window;
  const double limit = window ? run.thresholds.frozen_windows * *window : run.thresholds.frozen_steps;
  for (const Stretch& stretch : run.course.stretches) {
    // A growth that overflowed at once is in no sample: each proves its own step alone.
    const std::uint64_t stayed = stretch.at_told - stretch.sampled;
    if (stretch.kind != StretchKind::clean || static_cast<double>(stayed) <= limit) continue;
    const std::string known = window ? fmt::format(" (the window is {})", *window) : "";
    found.push_back({"frozen",
                     fmt::format("the scale stayed at {} for {} steps{}, without an overflow and without a growth: it "
                                 "is static, at its ceiling, or its counter has passed the window",
                                 float_text(stretch.before), stayed, known),
                     stretch.first,
                     {{"scale", stretch.before}, {"steps", static_cast<double>(stayed)}, {"limit", limit}}});
    return;
  }
}

void look_for_explosion(const Examination& run, std::vector<Symptom>& found) {
  std::uint64_t growths = 0;
  CoursePlace began;
  const Stretch* last = nullptr;
  for (const Stretch& stretch : run.course.stretches) {
    if (stretch.kind != StretchKind::clean) growths = 0;
    const bool has_grown = stretch.after > stretch.before || stretch.grew_before;
    if (!has_grown || stretch.kind != StretchKind::clean) continue;
    if (growths++ == 0) began = stretch.first;
    last = &stretch;
  }
  if (static_cast<double>(growths) < run.thresholds.exploding_growths) return;
  if (last->after <= run.thresholds.exploding_scale) return;
  found.push_back({"exploding",
                   fmt::format("the scale grew {} times to {} and nothing overflowed: gradients vanish, or are zero (a "
                               "detached loss, frozen parameters)",
                               growths, float_text(last->after)),
                   began,
                   {{"growths", static_cast<double>(growths)}, {"scale", last->after}}});
}

void look_for_contradiction(const Examination& run, std::vector<Symptom>& found) {
  const auto count = run.course.contradictions;
  if (count == 0) return;
  found.push_back({"count-contradiction",
                   fmt::format("the scale fell {} time{} in steps of which the log counts no skipped one: do not trust "
                               "its count",
                               count, count == 1 ? "" : "s"),
                   run.course.first_contradiction,
                   {{"falls", static_cast<double>(count)}}});
}

void look_for_applied_overflows(const Examination& run, std::vector<Symptom>& found) {
  const auto& warnings = run.trace.warnings;
  const auto told = std::ranges::find(warnings, "overflow-applied", &TraceWarning::code);
  if (told != warnings.end()) found.push_back({"overflow-applied", told->text, no_place, {}});
}

}  // namespace tare
