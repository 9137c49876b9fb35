#include "lib/health/readings.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "lib/health/course.hpp"
#include "lib/trace/overwritten.hpp"
#include "lib/trace/told_once.hpp"

namespace tare {
namespace {

/// Of runs told step by step, and of those told in intervals, in which an event may have come at any step.
constexpr std::size_t most_windows = 6;
constexpr std::size_t most_windows_of_intervals = 400;
/// Windows that are tried first where several are possible.
constexpr double usual_windows[] = {1000, 2000, 500, 100, 200, 256, 50, 5000, 10000};
constexpr std::size_t most_factors = 2;
/// A window longer than any that frameworks have by default.
constexpr double longest_default = 2000;

/// The values that came most often first.
std::vector<double> by_frequency(const std::map<double, std::size_t>& counts, std::size_t most) {
  std::vector<std::pair<double, std::size_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<double> values;
  for (const auto& [value, count] : sorted) {
    if (values.size() < most) values.push_back(value);
  }
  return values;
}

void put_once(std::vector<double>& values, double value) {
  if (value >= 1 && std::ranges::find(values, value) == values.end()) values.push_back(value);
}

/// Steps that were counted since the last event, told of one by one or in intervals.
class Counts {
 public:
  void take(const ScaleReading& reading) {
    const double before = reading.before.value_or(after_);
    const double after = reading.after.value_or(before);
    const std::uint64_t inside = reading.is_inside ? 0 : std::exchange(inside_, 0);
    if (reading.is_inside) ++inside_;
    if (inside == reading.span) return;
    const std::uint64_t skipped = reading.skipped.value_or(inside) - inside;
    const auto steps = static_cast<double>(reading.span - inside + reading.unseen);
    has_intervals_ = has_intervals_ || steps > 1 || reading.is_inside;
    if (is_silent_ && before > after_ && after_ > 0) grow_unseen(before / after_);
    is_silent_ = !reading.before && !reading.after;
    tell(reading.before);
    tell(reading.after);
    bound(before, after, reading, steps, skipped);
    highest_ = std::max({highest_, after, before});
    if (after > before && before > 0) {
      grow(after / before, clean_ + steps, reading);
    } else if (after < before || (reading.overflow.value_or(false) && inside == 0) || skipped > 0) {
      fall(before, after, reading);
    } else {
      clean_ += steps;
      longest_ = std::max(longest_, clean_);
    }
    after_ = after;
  }

  Suggestions take() {
    Suggestions found;
    found.has_moved = has_moved_;
    found.highest = highest_;
    if (has_intervals_) {
      found.are_windows_cut = !add_bounded(found.windows);
    } else {
      for (const double window : by_frequency(windows_, most_windows)) {
        put_once(found.windows, window);
        put_once(found.windows, window - 1);
      }
    }
    found.has_intervals = has_intervals_;
    found.has_grown = !growths_.empty();
    found.longest_clean = sure_clean_;
    if (found.windows.empty()) found.windows = {std::max(longest_default, longest_ + 1)};
    found.growth_factors = by_frequency(growths_, most_factors);
    found.backoff_factors = by_frequency(backoffs_, most_factors);
    if (!has_intervals_) put_once(found.hysteresis, static_cast<double>(most_waits_) + 1);
    for (const double hysteresis : {1.0, 2.0, 3.0, 4.0}) put_once(found.hysteresis, hysteresis);
    if (floor_) found.floors.push_back(*floor_);
    return found;
  }

 private:
  void tell(std::optional<double> scale) {
    if (!scale) return;
    has_moved_ = has_moved_ || std::isnan(*scale) || (told_ && *scale != *told_);
    told_ = scale;
  }

  /// A window is no longer than the steps from the last thing that could have reset its count to a growth, and no
  /// shorter than those in which nothing happened for sure.
  void bound(double before, double after, const ScaleReading& reading, double steps, std::uint64_t skipped) {
    const bool is_clean = reading.overflow == false && reading.unseen == 0 && after == before;
    if (after > before && before > 0 && after_ > 0) {
      most_ = std::min(most_, last_event_ + quiet_ + steps);
      coarsest_ = std::max(coarsest_, steps);
    }
    // A report without a scale says nothing of a growth; the next one with a scale does.
    if (reading.before && *reading.before == after_) sure_quiet_ += unsure_quiet_;
    if (reading.before || reading.after) sure_clean_ = std::max(sure_clean_, sure_quiet_);
    if (reading.before || reading.after || !is_clean) unsure_quiet_ = 0;
    if (is_clean && !reading.after) unsure_quiet_ += steps;
    sure_quiet_ = !is_clean ? 0 : reading.after ? sure_quiet_ + steps : sure_quiet_;
    sure_clean_ = std::max(sure_clean_, sure_quiet_);
    const bool is_quiet = after == before && skipped == 0 && (!reading.overflow.value_or(false) || reading.skipped);
    const auto whole = static_cast<double>(reading.span + reading.unseen);
    if (whole > 1) interval_ = whole;
    quiet_ = is_quiet ? quiet_ + steps : 0;
    if (!is_quiet) last_event_ = steps;
  }

  /// Where hidden overflows are possible the bound is loose below: the longest windows come first.
  /// False where not all that are possible were added.
  bool add_bounded(std::vector<double>& windows) const {
    if (!std::isfinite(most_)) return true;
    const double possible = std::max(1.0, sure_clean_);
    const double least = std::max(possible, most_ - 6 * coarsest_);
    for (const double window : usual_windows) {
      if (possible <= window && window <= most_) put_once(windows, window);
    }
    for (double window = most_; window >= least && windows.size() < most_windows_of_intervals; --window) {
      put_once(windows, window);
    }
    return least == possible && windows.size() < most_windows_of_intervals;
  }

  void grow(double factor, double clean, const ScaleReading& reading) {
    ++windows_[clean];
    // An interval may have several growths, and overflows between them: the least of all factors is a growth's own.
    if (reading.span == 1 && reading.unseen == 0) {
      ++growths_[factor];
    } else if (growths_.empty() || factor < growths_.begin()->first) {
      growths_ = {{factor, 1}};
    }
    clean_ = 0;
    waits_ = 0;
  }

  /// Between reports that show no scale; the next overflow's line does. It stands before the report of its own
  /// interval.
  void grow_unseen(double ratio) {
    has_intervals_ = true;
    const double octaves = std::log2(ratio);
    const bool are_doublings = octaves == std::floor(octaves);
    most_ = std::min(most_, std::floor((last_event_ + quiet_ + interval_) / (are_doublings ? octaves : 1)));
    coarsest_ = std::max(coarsest_, interval_);
    const double factor = are_doublings ? 2 : ratio;
    if (growths_.empty() || factor < growths_.begin()->first) growths_ = {{factor, 1}};
    clean_ = 0;
    waits_ = 0;
  }

  void fall(double before, double after, const ScaleReading& reading) {
    if (after < before && reading.span == 1 && reading.unseen == 0) ++backoffs_[after / before];
    if (after < before) most_waits_ = std::max(most_waits_, std::min<std::uint64_t>(waits_, 8));
    waits_ = after < before ? 0 : waits_ + reading.span;
    if (after == before && before == 1) floor_ = before;
    clean_ = 0;
  }

  double after_ = 0, clean_ = 0, longest_ = 0, highest_ = 0;
  double interval_ = 1;       ///< steps of the last one, those that were told before it, too
  std::uint64_t inside_ = 0;  ///< readings of which the interval comes
  bool is_silent_ = false;    ///< the last reading has no scale
  double most_ = INFINITY, coarsest_ = 1, quiet_ = 0, last_event_ = 0, sure_quiet_ = 0, unsure_quiet_ = 0,
         sure_clean_ = 0;
  std::uint64_t waits_ = 0, most_waits_ = 0;
  bool has_intervals_ = false;
  bool has_moved_ = false;      ///< in one step or between reports, whatever moved it
  std::optional<double> told_;  ///< the last scale
  std::optional<double> floor_;
  std::map<double, std::size_t> windows_, growths_, backoffs_;
};

/// The `count` last readings are overflows that the next one, an interval, counts again.
void put_inside(std::vector<ScaleReading>& readings, std::uint64_t count) {
  for (auto last = readings.rbegin(); count > 0 && last != readings.rend(); ++last, --count) {
    if (last->step || last->overflow != true) return;
    last->is_inside = true;
  }
}

}  // namespace

std::size_t interval_of(const std::vector<ScaleReading>& readings, std::size_t at) {
  while (readings[at].is_inside && at + 1 < readings.size()) ++at;
  return at;
}

std::vector<ScaleReading> scale_readings(const Trace& trace) {
  std::vector<ScaleReading> readings;
  std::int64_t last_step = -1;  // none
  std::uint32_t segment = 0;
  const bool counts_steps = trace.unit != "sample";
  ToldOnce once(trace);
  Overwritten overwritten(trace);
  for (const TraceStep& step : trace.steps) {
    const bool tells = step.scale || step.after || step.overflow || step.skipped;
    if (overwritten.has(step) || !tells) continue;
    if (readings.size() == most_readings) break;
    if (step.segment != segment) last_step = -1;
    segment = step.segment;
    put_inside(readings, step.span - once.rest_of(step).span);
    ScaleReading reading{step.scale, step.after, step.overflow, step.skipped, step.span,
                         0,          step.step,  step.line,     step.fatal};
    const bool halves = step.overflow == true && trace.sources[step.source].kind == without_floor;
    if (halves && !reading.before && reading.after) reading.before = 2 * *reading.after;
    if (step.span > 1 && step.skipped == step.span) reading.overflow = true;
    if (step.span > 1 && step.skipped == 0U) reading.overflow = false;
    if (step.span == 1 && step.skipped && !step.overflow) reading.overflow = *step.skipped > 0;
    if (counts_steps && step.step && last_step >= 0) {
      const std::int64_t gap = *step.step - last_step - static_cast<std::int64_t>(step.span);
      reading.unseen = static_cast<std::uint64_t>(std::max<std::int64_t>(gap, 0));
    }
    if (step.step) last_step = *step.step;
    readings.push_back(reading);
  }
  return readings;
}

Suggestions suggestions_of(const std::vector<ScaleReading>& readings) {
  Counts counts;
  for (const ScaleReading& reading : readings) counts.take(reading);
  return counts.take();
}

}  // namespace tare
