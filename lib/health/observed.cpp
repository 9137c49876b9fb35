#include "lib/health/observed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/trace/overwritten.hpp"
#include "lib/trace/told_once.hpp"

namespace tare {
namespace {

constexpr double anything = std::numeric_limits<double>::infinity();

std::unordered_map<std::int64_t, double> by_step(const Trace* maxima) {
  std::unordered_map<std::int64_t, double> values;
  if (maxima == nullptr) return values;
  Overwritten overwritten(*maxima);
  for (const TraceStep& step : maxima->steps) {
    if (!overwritten.has(step) && step.step && step.after) values[*step.step] = *step.after;
  }
  return values;
}

/// The greatest scale at which a gradient of that size is a number of float16.
double clean_limit(double largest) {
  double limit = half_overflow / largest;
  while (limit * largest >= half_overflow) limit = std::nextafter(limit, 0);
  return limit;
}

std::uint64_t skipped_of(const TraceStep& step) {
  return step.skipped.value_or(step.overflow.value_or(false) ? step.span : 0);
}

/// That a run's first steps may have begun with: each that was skipped may have halved the scale, or not.
std::vector<double> first_scales_of(const TraceStep& step) {
  if (step.scale) return {*step.scale};
  std::vector<double> scales;
  double scale = *step.after;
  for (std::uint64_t halved = 0; halved <= skipped_of(step) && std::isfinite(scale); ++halved) {
    if (!scales.empty() && scales.back() == scale) break;  // 0
    scales.push_back(scale);
    scale *= 2;
  }
  return scales;
}

class Observer {
 public:
  Observer(const Trace& trace, double below, const Trace* maxima)
      : trace_(trace), once_(trace), below_(below), maxima_(by_step(maxima)), is_by_sample_(trace.unit == "sample") {}

  ObservedRun run() {
    Overwritten overwritten(trace_);
    for (const TraceStep& step : trace_.steps) {
      const bool tells = step.scale || step.after || step.overflow || step.skipped;
      if (!overwritten.has(step) && tells) take(step);
    }
    flush();
    if (run_.count <= run_.overflows) {
      throw Error(Status::refused,
                  run_.count == 0 ? "nothing of what was read tells of a loss scale"
                                  : "the trace tells of overflows alone, and not how many clean steps lie between them",
                  "a log with the scale of every step, an event file or a metrics file tells it");
    }
    return std::move(run_);
  }

 private:
  void take(const TraceStep& step) {
    if (step.segment != segment_) {
      segment_ = step.segment;
      last_step_.reset();
      after_.reset();
    }
    fill_gap(step);
    const std::optional<double> before = step.scale ? step.scale : after_;
    if (run_.first_scales.empty() && (step.scale || step.after)) run_.first_scales = first_scales_of(step);
    const TraceStep rest = once_.rest_of(step);
    if (rest.span < step.span) {
      place(step.span - rest.span, step.span);
      run_.overflows += *rest.skipped;
    } else {
      if (step.step) flush();
      put(known_of(step, before), step);
    }
    if (rest.span > 0) keep_figures(rest, before || skipped_of(step) > 0 ? before : step.after);
    leave(step, rest, before);
    if (step.step) last_step_ = step.step;
  }

  /// Which scale the step left to the next one: not known of what fell without a word of how far, or is told rounded.
  /// `rest`: of the step what no line before it told.
  void leave(const TraceStep& step, const TraceStep& rest, std::optional<double> before) {
    const bool may_have_moved = step.smoothed || (rest.span > 0 && skipped_of(rest) > 0);
    after_ = step.after || may_have_moved ? step.after : before;
  }

  /// Steps between two readings of which nothing is told.
  void fill_gap(const TraceStep& step) {
    if (is_by_sample_ || !step.step || !last_step_) return;
    const std::int64_t missing = *step.step - *last_step_ - static_cast<std::int64_t>(step.span);
    if (missing <= 0) return;
    append({0, anything, static_cast<std::uint64_t>(missing), false});
    run_.unknown += static_cast<std::uint64_t>(missing);
    run_.untold_skips += static_cast<std::uint64_t>(missing);
    run_.untold_scales += static_cast<std::uint64_t>(missing);
    const std::optional<double> reading = step.scale ? step.scale : step.after;
    if (after_ && reading && *reading < *after_) {
      ++run_.overflows;
      --run_.untold_skips;
    }
    after_.reset();
  }

  ObservedSteps known_of(const TraceStep& step, std::optional<double> before) {
    ObservedSteps known{0, anything, step.span, false};
    const double ran_with = before.value_or(step.after.value_or(0));
    const double after = step.after.value_or(ran_with);
    const std::uint64_t skipped = skipped_of(step);
    const bool is_told = step.overflow.has_value() || step.skipped.has_value();
    const bool has_fallen = after < ran_with;
    if (step.nan.value_or(0) == step.span && skipped == step.span) {
      known.is_incurable = true;
    } else if (is_told ? skipped == step.span : step.span == 1 && has_fallen) {
      known.overflow_from = before.value_or(anything);
    } else if (is_told ? skipped == 0 : step.span == 1) {
      known.clean_to = step.span == 1 ? ran_with : std::min(ran_with, after);
      if (!is_told && after == ran_with) run_.taken_as_clean += step.span;
    }
    run_.overflows += is_told ? skipped : static_cast<std::uint64_t>(has_fallen ? 1 : 0);
    if (known == ObservedSteps{0, anything, step.span, false}) run_.unknown += step.span;
    if (!is_told && step.span > 1) run_.untold_skips += step.span - (has_fallen ? 1 : 0);
    return known;
  }

  void put(ObservedSteps known, const TraceStep& step) {
    const auto largest = step.step && step.span == 1 ? maxima_.find(*step.step) : maxima_.end();
    if (largest != maxima_.end() && std::isfinite(largest->second) && largest->second > 0) {
      known.clean_to = std::max(known.clean_to, clean_limit(largest->second));
      known.overflow_from = std::min(known.overflow_from, std::nextafter(known.clean_to, anything));
    }
    if (known.is_incurable) run_.incurable += known.steps;
    if (!step.step && step.overflow == true) {
      waiting_.push_back(known);
    } else {
      append(known);
    }
  }

  /// The `count` overflows that were told last lie within the next `span` steps; where, is not told unless they are
  /// all.
  void place(std::uint64_t count, std::uint64_t span) {
    if (count == span) return flush();
    waiting_.resize(waiting_.size() - std::min<std::size_t>(count, waiting_.size()));
    flush();
    append({0, anything, span, false});
    run_.unknown += span;
  }

  void flush() {
    for (const ObservedSteps& known : waiting_) append(known);
    waiting_.clear();
  }

  void append(const ObservedSteps& known) {
    run_.count += known.steps;
    if (!run_.steps.empty()) {
      ObservedSteps last = run_.steps.back();
      last.steps = known.steps;
      if (last == known) {
        run_.steps.back().steps += known.steps;
        return;
      }
    }
    run_.steps.push_back(known);
  }

  /// `before`: the scale that the step ran with, or that its span began with.
  void keep_figures(const TraceStep& step, std::optional<double> before) {
    const double after = step.after.value_or(before.value_or(0));
    const bool is_below = before && *before < below_;
    const bool has_moved = step.span > 1 && before && after != *before;
    if (!before || (has_moved && is_below != (after < below_))) {
      run_.untold_scales += step.span;
    } else if (is_below) {
      run_.below += step.span;
    }
    run_.is_rough = run_.is_rough || has_moved;
    if (!before || !(*before > 0) || !std::isfinite(*before)) return;
    run_.log2_sum += std::log2(*before) * static_cast<double>(step.span);
    run_.log2_count += step.span;
  }

  const Trace& trace_;
  ToldOnce once_;
  double below_;
  std::unordered_map<std::int64_t, double> maxima_;
  bool is_by_sample_;
  ObservedRun run_;
  std::vector<ObservedSteps> waiting_;  ///< overflows without a number, of which no report has come yet
  std::uint32_t segment_ = 0;
  std::optional<double> after_;
  std::optional<std::int64_t> last_step_;
};

}  // namespace

ObservedRun observe(const Trace& trace, double below, const Trace* maxima) {
  return Observer(trace, below, maxima).run();
}

}  // namespace tare
