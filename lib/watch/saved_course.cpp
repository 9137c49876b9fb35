#include "lib/watch/saved_course.hpp"

#include <algorithm>
#include <utility>

namespace tare {

namespace {

std::optional<std::int64_t> highest_step(const Trace& trace) {
  std::optional<std::int64_t> highest;
  for (const TraceStep& step : trace.steps) highest = std::max(highest, step.step);
  return highest;
}

}  // namespace

void SavedCourse::take(const Trace& saved) {
  const std::set<Told> known = told_so_far();
  const bool goes_on = !goes_back(saved);
  for (const TraceStep& step : saved.steps) {
    const TraceSource& source = saved.sources[step.source];
    const Told now{step.step, step.after};
    const auto [told, is_first] = told_.try_emplace(source.path, now);
    if (!is_first && std::exchange(told->second, now) == now) continue;
    if (goes_on && known.contains(now)) continue;  // it was renamed, or copied
    const bool is_before = last_ && step.step && *step.step < *last_;
    if (is_before && is_first) continue;  // it was found late: what came of it is told
    if (trace_.sources.empty()) trace_.sources.push_back(source);
    if (is_before || trace_.segments.empty()) begin_segment();
    add(rest_of(step));
  }
}

bool SavedCourse::goes_back(const Trace& saved) const {
  return highest_step(saved) < last_;
}

std::set<SavedCourse::Told> SavedCourse::told_so_far() const {
  std::set<Told> told;
  for (const auto& [path, one] : told_) told.insert(one);
  return told;
}

void SavedCourse::begin_segment() {
  trace_.segments.emplace_back();
  last_.reset();
}

void SavedCourse::add(TraceStep step) {
  TraceSegment& segment = trace_.segments.back();
  if (!segment.first) segment.first = step.step;
  if (step.step) segment.last = segment.kept = last_ = step.step;
  skipped_ += step.skipped.value_or(0);
  if (step.step) skipped_by_[*step.step] = skipped_;
  step.source = 0;  // they are of one kind
  step.segment = static_cast<std::uint32_t>(trace_.segments.size() - 1);
  trace_.steps.push_back(step);
}

/// Counts since a checkpoint that is there, or since the run began, become those since the last one that was told.
TraceStep SavedCourse::rest_of(TraceStep step) const {
  const bool is_first = trace_.steps.empty();
  if (!step.skipped || is_first) return step;
  const std::int64_t begin = *step.step - static_cast<std::int64_t>(step.span);
  const auto told = begin == 0 ? std::optional<std::uint64_t>(0) : skipped_by(begin);
  const bool goes_on = last_ && begin <= *last_ && *last_ < *step.step && told && skipped_ - *told <= *step.skipped;
  step.span = goes_on ? static_cast<std::uint64_t>(*step.step - *last_) : 1;
  step.skipped = goes_on ? std::optional(*step.skipped - (skipped_ - *told)) : std::nullopt;
  step.overflow.reset();
  if (step.skipped == 0U) step.overflow = false;
  if (step.skipped == step.span) step.overflow = true;
  return step;
}

std::optional<std::uint64_t> SavedCourse::skipped_by(std::int64_t step) const {
  const auto found = skipped_by_.find(step);
  return found == skipped_by_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tare
