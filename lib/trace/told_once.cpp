#include "lib/trace/told_once.hpp"

#include <algorithm>
#include <utility>

namespace tare {

TraceStep ToldOnce::rest_of(const TraceStep& step) {
  const bool is_same_file = step.source == source_ || trace_.sources[step.source].path == trace_.sources[source_].path;
  if (step.segment != segment_ || !is_same_file) told_ = 0;
  segment_ = step.segment;
  source_ = step.source;
  if (!step.step) {
    if (step.overflow == true && !step.fatal) ++told_;
    return step;
  }
  if (!step.skipped) return step;
  TraceStep rest = step;
  const std::uint64_t again = std::min({std::exchange(told_, 0), *step.skipped, step.span});
  rest.span -= again;
  *rest.skipped -= again;
  if (again > 0)
    rest.overflow = *rest.skipped == 0           ? std::optional(false)
                    : *rest.skipped == rest.span ? std::optional(true)
                                                 : std::nullopt;
  return rest;
}

}  // namespace tare
