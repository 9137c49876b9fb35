// Rules about overflows that follow each other: the search at the start, a collapse, a floor, a slow fall.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/text.hpp"
#include "lib/health/look.hpp"

namespace tare {
namespace {

/// Below this a scale is a denormal float32, or 0.
constexpr double least_normal = 0x1p-126;
/// A fall of fewer halvings is no way to a floor.
constexpr double least_octaves_to_floor = 3;

bool is_search(const Examination& run, const Fall& fall) {
  const Thresholds& limits = run.thresholds;
  const bool has_settled = static_cast<double>(fall.clean_after) >= limits.search_clean_steps;
  if (!fall.is_at_start || fall.is_fatal || fall.octaves() < 1) return false;
  if (fall.octaves() > limits.search_halvings && !has_settled) return false;
  return fall.bottom >= limits.search_least_scale || (has_settled && fall.bottom >= limits.collapse_low_scale);
}

bool is_collapse(const Examination& run, const Fall& fall) {
  const Thresholds& limits = run.thresholds;
  if (!fall.is_in_a_row() || is_search(run, fall) || fall.octaves() < 1) return false;
  const double overflows = std::min(static_cast<double>(fall.overflows), fall.octaves() + run.course.hysteresis - 1);
  if (fall.is_fatal && fall.octaves() >= least_octaves_to_floor) return true;
  return overflows >= limits.collapse_overflows ||
         (overflows >= limits.collapse_low_overflows && fall.bottom < limits.collapse_low_scale);
}

/// It ended where the scale goes no further down.
bool is_at_floor(const Examination& run, const Fall& fall) {
  const Stretch& last = run.course.stretches[fall.last];
  const bool stays = last.kind == StretchKind::overflow && last.before == last.after && last.after <= usual_floor;
  return fall.is_fatal || (stays && fall.octaves() >= least_octaves_to_floor) ||
         fall.bottom < run.thresholds.vanished_scale;
}

/// Clean steps that end a search, where not every step is told.
double clean_steps_of_rest(const Examination& run) {
  return run.thresholds.search_clean_steps * static_cast<double>(run.course.stride);
}

/// Where the way down to that stretch began, `begin` at the earliest: behind the last growth, or more than so many
/// clean steps.
std::size_t top_of_way_down(const Examination& run, std::size_t begin, std::size_t bottom, double clean) {
  const auto& all = run.course.stretches;
  std::size_t top = bottom;
  for (std::size_t i = bottom; i-- > begin;) {
    const bool is_rest = all[i].kind == StretchKind::clean && static_cast<double>(all[i].steps) > clean;
    if (all[i + 1].grew_before || all[i].after > all[i].before || is_rest || all[i].is_level()) break;
    if (all[i].kind != StretchKind::clean) top = i;
  }
  return top;
}

/// Whether each overflow of the stretch is told, or shows: a scale that is told now and then may have risen between.
bool is_counted(const Stretch& stretch) {
  return stretch.is_told || (stretch.first.step && stretch.steps == stretch.overflows);
}

struct Overflows {
  std::uint64_t count = 0;
  bool is_least = false;

  [[nodiscard]] std::string text() const {
    return fmt::format("{}{} overflow{}", is_least ? "at least " : "", count, count == 1 ? "" : "s");
  }
};

/// Points without numbers tell of no steps, but of how far down it went.
Overflows overflows_of(const Course& course, const Fall& fall) {
  Overflows overflows{fall.overflows, false};
  for (std::size_t i = fall.first; i <= fall.last; ++i) {
    overflows.is_least = overflows.is_least || (course.stretches[i].overflows > 0 && !is_counted(course.stretches[i]));
  }
  if (overflows.is_least) {
    overflows.count = std::max(overflows.count, static_cast<std::uint64_t>(std::ceil(fall.octaves() - 0.01)));
  }
  return overflows;
}

/// "from 65536.0", or what it was at least where nothing told it before the first overflow.
std::string from_text(const Course& course, const Fall& fall) {
  const bool is_told = course.stretches[fall.first].is_top_told;
  return fmt::format("from {}{}", is_told ? "" : "at least ", float_text(fall.top));
}

std::string fall_text(const Course& course, const Fall& fall) {
  const bool is_counted = course.stretches[fall.first].first.step.has_value();
  const std::string few = !is_counted                         ? " without a growth between them"
                          : fall.overflows == fall.most_steps ? " in a row"
                                                              : fmt::format(" within {} steps", fall.most_steps);
  return fmt::format("{}{} took the scale {} to {}{}", overflows_of(course, fall).text(), few, from_text(course, fall),
                     float_text(fall.bottom), course.stretches[fall.last].is_fatal ? ", where the run ended" : "");
}

Symptom symptom_of(const Examination& run, std::string_view code, const Fall& fall, std::string message) {
  return {code,
          std::move(message),
          run.course.stretches[fall.first].first,
          {{"overflows", static_cast<double>(fall.overflows)}, {"from", fall.top}, {"to", fall.bottom}}};
}

/// Wherever the scale got so small that nothing is left of fp16's gradients, however slowly.
void look_for_vanished(const Examination& run, std::vector<Symptom>& found) {
  const auto& all = run.course.stretches;
  const auto low = std::find_if(all.begin(), all.end(), [&](const Stretch& stretch) {
    return stretch.after < run.thresholds.vanished_scale && stretch.before < run.thresholds.exploding_scale * 0x1p100;
  });
  if (low == all.end()) return;
  const double least =
      std::min_element(low, all.end(), [](const Stretch& a, const Stretch& b) { return a.after < b.after; })->after;
  const std::size_t top =
      top_of_way_down(run, 0, static_cast<std::size_t>(low - all.begin()), clean_steps_of_rest(run));
  found.push_back({least < least_normal ? "collapse-to-zero" : "collapse-to-floor",
                   fmt::format("the scale {}: no gradient of float16 survives that",
                               all[top].before > least ? fmt::format("went from {} down to {}",
                                                                     float_text(all[top].before), float_text(least))
                                                       : fmt::format("is {}", float_text(least))),
                   all[top].first,
                   {{"from", all[top].before}, {"to", least}}});
}

/// The told steps up to the end of each stretch.
std::vector<std::uint64_t> ends_of(const std::vector<Stretch>& stretches) {
  std::vector<std::uint64_t> ends;
  for (const Stretch& stretch : stretches) ends.push_back(stretch.steps + (ends.empty() ? 0 : ends.back()));
  return ends;
}

/// REQUIRES: the stretch has overflows.
const Fall& fall_with(const Course& course, std::size_t stretch) {
  return *std::ranges::lower_bound(course.falls, stretch, {}, &Fall::last);
}

/// Behind the search that the run began with.
std::size_t end_of_search(const Examination& run) {
  std::size_t end = 0;
  for (const Fall& fall : run.course.falls) {
    if (is_search(run, fall)) end = fall.last + 1;
  }
  return end;
}

/// The way down to that stretch from the greatest scale of the steps in which a fall counts, growths among them or not.
/// Overflows alone do not tell whether a search was over before they came.
Fall steep_way_to(const Examination& run, std::size_t last, const std::vector<std::uint64_t>& ends) {
  const auto& all = run.course.stretches;
  const Fall& end = fall_with(run.course, last);
  Fall way{.first = last,
           .last = last,
           .top = all[last].before,
           .bottom = all[last].after,
           .clean_after = end.clean_after,
           .is_at_start = end.is_at_start,
           .is_fatal = end.is_fatal};
  const std::size_t begin = end.is_at_start && !run.course.has_steps ? end_of_search(run) : 0;
  for (std::size_t i = last; i-- > begin;) {
    if (static_cast<double>(ends[last] - ends[i]) > run.thresholds.falling_steps) break;
    if (!run.course.has_steps && all[i + 1].grew_before) break;
    if (all[i].kind == StretchKind::clean || all[i].before <= way.top) continue;
    way.top = all[i].before;
    way.first = i;
  }
  return way;
}

}  // namespace

void look_for_collapse(const Examination& run, std::vector<Symptom>& found) {
  look_for_vanished(run, found);
  const bool has_vanished = !found.empty();
  for (const Fall& fall : run.course.falls) {
    if (is_search(run, fall) || (has_vanished && fall.bottom < run.thresholds.collapse_low_scale)) continue;
    const bool is_floor = is_at_floor(run, fall) && (fall.octaves() >= least_octaves_to_floor || fall.is_fatal);
    if (!is_floor && !is_collapse(run, fall)) continue;
    found.push_back(symptom_of(run, is_floor ? "collapse-to-floor" : "collapse", fall, fall_text(run.course, fall)));
  }
}

void look_for_backoffs_at_once(const Examination& run, std::vector<Symptom>& found) {
  for (const Stretch& stretch : run.course.stretches) {
    const bool is_whole =
        stretch.first.step && stretch.is_adjacent && stretch.unseen_within == 0 && stretch.at_told > 0;
    if (!is_whole || !(stretch.after > 0) || !(stretch.after < stretch.before)) continue;
    const double octaves = std::log2(stretch.before / stretch.after);
    if (octaves <= run.thresholds.backoff_octaves * static_cast<double>(stretch.steps)) continue;
    found.push_back({"backoffs-at-once",
                     fmt::format("the scale went from {} to {} in {}, which takes {:.0f} halvings",
                                 float_text(stretch.before), float_text(stretch.after),
                                 stretch.steps == 1 ? "one step" : fmt::format("{} steps", stretch.steps), octaves),
                     stretch.first,
                     {{"from", stretch.before}, {"to", stretch.after}, {"octaves", octaves}}});
    return;
  }
}

void look_for_stuck(const Examination& run, std::vector<Symptom>& found) {
  const double most = run.thresholds.stuck_overflows + (run.course.hysteresis > 1 ? run.course.hysteresis - 1 : 0);
  for (const Stretch& stretch : run.course.stretches) {
    const bool stays = stretch.kind == StretchKind::overflow && stretch.before == stretch.after && stretch.is_told;
    if (!stays || static_cast<double>(stretch.overflows) < most) continue;
    found.push_back({"stuck-at-floor",
                     fmt::format("{} overflows in a row at scale {}, which did not move: no step was made",
                                 stretch.overflows, float_text(stretch.before)),
                     stretch.first,
                     {{"overflows", static_cast<double>(stretch.overflows)}, {"scale", stretch.before}}});
    return;
  }
}

void look_for_search(const Examination& run, std::vector<Symptom>& found) {
  Overflows overflows;
  const Fall* first = nullptr;
  const Fall* last = nullptr;
  for (const Fall& fall : run.course.falls) {
    if (!is_search(run, fall)) continue;
    const Overflows more = overflows_of(run.course, fall);
    overflows.count += more.count;
    overflows.is_least = overflows.is_least || more.is_least;
    first = first == nullptr ? &fall : first;
    last = &fall;
  }
  if (first == nullptr) return;
  found.push_back(
      {"initial-search",
       fmt::format("the run began with {} that took the scale {} to {}: dynamic scaling looks for its scale "
                   "so",
                   overflows.text(), from_text(run.course, *first), float_text(last->bottom)),
       run.course.stretches[first->first].first,
       {{"overflows", static_cast<double>(overflows.count)}, {"from", first->top}, {"to", last->bottom}}});
}

void look_for_falling(const Examination& run, std::vector<Symptom>& found) {
  const auto& all = run.course.stretches;
  const std::vector<std::uint64_t> ends = ends_of(all);
  const double told = ends.empty() ? 0 : static_cast<double>(ends.back());
  const double recent = std::max(0.2 * told, run.thresholds.falling_steps);
  for (std::size_t i = all.size(); i-- > 0 && told - static_cast<double>(ends[i]) <= recent;) {
    if (all[i].kind == StretchKind::clean) continue;
    const Fall steep = steep_way_to(run, i, ends);
    if (is_search(run, steep)) return;  // with all that lies before it
    const bool is_soon_behind_search = !steep.is_at_start && is_search(run, fall_with(run.course, steep.first));
    if (is_soon_behind_search) continue;
    const double slow = run.thresholds.falling_steps / run.thresholds.falling_octaves;
    const std::size_t begin = steep.is_at_start ? 0 : end_of_search(run);
    const std::size_t top = top_of_way_down(run, begin, steep.first, std::max(clean_steps_of_rest(run), slow));
    Fall whole{.first = top, .last = i, .top = all[top].before, .bottom = all[i].after};
    for (std::size_t j = top; j <= i; ++j) whole.overflows += all[j].overflows;
    const Fall& counted = whole.bottom < run.thresholds.low_scale ? whole : steep;
    const bool has_recovered = all.back().after > steep.top * std::exp2(-steep.octaves() / 2);
    if (counted.octaves() < run.thresholds.falling_octaves || has_recovered) continue;
    const std::uint64_t steps = ends[i] - ends[top] + all[top].steps;
    // A log of overflows alone does not tell the steps between them.
    const std::string how = run.course.has_steps ? fmt::format("within {} steps", steps)
                                                 : fmt::format("by {}", overflows_of(run.course, whole).text());
    found.push_back({"falling",
                     fmt::format("the scale fell from {} to {} {} and has not come back: watch it",
                                 float_text(whole.top), float_text(whole.bottom), how),
                     all[top].first,
                     {{"from", whole.top}, {"to", whole.bottom}, {"octaves", whole.octaves()}}});
    return;
  }
}

}  // namespace tare
