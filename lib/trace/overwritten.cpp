#include "lib/trace/overwritten.hpp"

namespace tare {

Overwritten::Overwritten(const Trace& trace) : trace_(trace) {
  for (std::size_t i = 0; i < trace.segments.size(); ++i) {
    if (trace.segments[i].first) last_numbered_ = i;
  }
}

bool Overwritten::has(const TraceStep& step) {
  if (step.segment != segment_) last_.reset();
  segment_ = step.segment;
  if (step.step) last_ = step.step;
  if (step.segment >= last_numbered_) return false;
  const auto& kept = trace_.segments[step.segment].kept;
  if (!kept) return true;
  return step.step ? *step.step > *kept : last_ && *last_ >= *kept;
}

}  // namespace tare
