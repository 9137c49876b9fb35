#include "lib/trace/run.hpp"

#include <algorithm>
#include <limits>

#include "lib/base/limits.hpp"
#include "lib/base/text.hpp"

namespace tare {

namespace {

constexpr std::size_t warnings_a_code = 8;
constexpr std::size_t most_segments = std::size_t{1} << 16;
constexpr std::size_t most_sources = limits::max_files;

/// The first step of any segment behind each.
std::vector<std::int64_t> cuts(const std::vector<TraceSegment>& segments) {
  std::vector<std::int64_t> found(segments.size(), std::numeric_limits<std::int64_t>::max());
  for (std::size_t i = segments.size(); i-- > 1;) {
    found[i - 1] = std::min(found[i], segments[i].first.value_or(found[i]));
  }
  return found;
}

bool same_event(const TraceStep& a, const TraceStep& b) {
  return a.scale == b.scale && a.after == b.after && a.overflow == b.overflow && a.segment == b.segment;
}

}  // namespace

bool tells_scale(const Trace& trace) {
  return std::any_of(trace.steps.begin(), trace.steps.end(), [](const TraceStep& step) {
    return step.scale || step.after || step.smoothed || step.overflow.value_or(false) || step.skipped.value_or(0) > 0;
  });
}

void tell_without_scale(Trace& trace, const TraceSteps& steps, const std::vector<TraceSource>& sources) {
  if (steps.empty()) return;
  const auto offset = static_cast<std::uint32_t>(trace.sources.size());
  trace.sources.insert(trace.sources.end(), sources.begin(), sources.end());
  for (TraceStep step : steps) {
    step.source += offset;
    step.segment = 0;
    trace.without_scale.push_back(step);
  }
}

std::uint32_t Run::source(const std::string& path, std::string_view kind, std::string_view tag) {
  auto& sources = trace_.sources;
  const auto next = static_cast<std::uint32_t>(std::min(sources.size(), most_sources - 1));
  const auto [known, is_new] = source_numbers_.try_emplace({path, std::string(kind), std::string(tag)}, next);
  if (is_new && sources.size() < most_sources) sources.push_back({path, std::string(kind), std::string(tag)});
  return known->second;
}

void Run::begin_segment() {
  if (trace_.segments.size() < most_segments) {
    trace_.segments.emplace_back();
  } else {
    warn("too-many-segments", "steps go back more than 65536 times: what comes then is one segment");
  }
  last_.reset();
  last_teller_ = nullptr;
  has_died_ = false;
}

void Run::add(TraceStep step, const void* teller) {
  if (is_full_) return;
  if (trace_.segments.empty() || (has_died_ && !step.fatal)) begin_segment();
  has_died_ = step.fatal;
  if (step.step && last_) {
    if (*step.step == *last_ && teller == last_teller_) {
      if (!repeated_.is_of_several(step)) return;
      warn_of_repeated(step);
      step.step.reset();
    } else if (*step.step < *last_) {
      begin_segment();
    }
  }
  TraceSegment& segment = trace_.segments.back();
  step.segment = static_cast<std::uint32_t>(trace_.segments.size() - 1);
  if (step.step) {
    if (!segment.first) segment.first = step.step;
    segment.last = last_ = step.step;
    last_teller_ = teller;
    repeated_.begin(step);
  }
  if (trace_.steps.push_back(step)) return;
  is_full_ = true;
  warn("too-large",
       "there are more different steps than are kept: none from line " + std::to_string(step.line) + " on");
}

void Run::warn_of_repeated(const TraceStep& step) {
  if (warned_repeated_ == step.step) return;
  warned_repeated_ = step.step;
  warn("repeated-number", escaped(trace_.sources[step.source].path) + ":" + std::to_string(step.line) + ": " +
                              std::to_string(*step.step) +
                              " comes again and again, with other scales: it is no step's number, and what has it is "
                              "told without one");
}

void Run::restart(std::int64_t step) {
  if (last_ && step <= *last_) begin_segment();
}

void Run::restart() {
  if (!trace_.segments.empty()) begin_segment();
}

void Run::warn(std::string_view code, std::string text) {
  const auto found = warned_.try_emplace(std::string(code), 0).first;
  if (++found->second > warnings_a_code) return;
  if (found->second == warnings_a_code) text += " (and more of this kind)";
  trace_.warnings.push_back({std::string(code), std::move(text)});
}

void Run::merge_copies(const std::vector<std::uint32_t>& sources, std::size_t ranks) {
  TraceSteps merged;
  std::optional<TraceStep> run;
  std::size_t length = 0;
  for (const TraceStep& step : trace_.steps) {
    const bool is_of_many =
        !step.step && !step.fatal && std::find(sources.begin(), sources.end(), step.source) != sources.end();
    if (is_of_many) {
      length = run && same_event(*run, step) ? length + 1 : 0;
      run = step;
      if (length % ranks != 0) continue;
    }
    merged.push_back(step);
  }
  trace_.steps = std::move(merged);
}

void Run::tell_without_scale(const Run& other) {
  tare::tell_without_scale(trace_, other.trace_.steps, other.trace_.sources);
}

void Run::move_to_starts() {
  std::vector<std::size_t> last_numbered(trace_.segments.size());
  std::size_t at = 0;
  for (const TraceStep& step : trace_.steps) {
    ++at;
    if (step.step) last_numbered[step.segment] = at;
  }
  TraceSteps moved;
  std::optional<double> left;
  std::optional<std::uint32_t> leapt_in;  // the segment whose lines are the next one's from here on
  at = 0;
  for (TraceStep step : trace_.steps) {
    ++at;
    const bool is_last = step.segment + 1 == trace_.segments.size();
    const bool is_behind = !step.step && !is_last && at > last_numbered[step.segment];
    if (is_behind && left && step.scale && *step.scale > 2 * *left) leapt_in = step.segment;
    if (step.after) left = step.after;
    if (is_behind && leapt_in == step.segment) ++step.segment;
    moved.push_back(step);
  }
  if (leapt_in) trace_.steps = std::move(moved);
}

Trace Run::finish() {
  if (trace_.segments.size() > 1) move_to_starts();
  const std::vector<std::int64_t> cut = cuts(trace_.segments);
  for (const TraceStep& step : trace_.steps) {
    auto& kept = trace_.segments[step.segment].kept;
    if (step.step && *step.step < cut[step.segment] && (!kept || *kept < *step.step)) kept = step.step;
  }
  if (trace_.steps.told_every() > 1) {
    warn("thinned", "of " + std::to_string(trace_.steps.told_every()) +
                        " neighbours one loss and one gradient norm are kept; scales and overflows are all there");
  }
  return std::move(trace_);
}

}  // namespace tare
