// Each step of a trace counted once.
#pragma once

#include <cstdint>
#include <string>

#include "lib/trace/trace.hpp"

namespace tare {

/// A log may tell one overflow twice: by a line of its own, which has no number, and in the count of the report behind
/// it (DeepSpeed's). The trace has both, as they were told; whoever counts takes of a report what remains.
class ToldOnce {
 public:
  explicit ToldOnce(const Trace& trace) : trace_(trace) {}

  /// What `step` tells beyond those before it: fewer steps, fewer skipped ones; of span 0 nothing. REQUIRES: called
  /// with the trace's steps in their order, each once.
  [[nodiscard]] TraceStep rest_of(const TraceStep& step);

 private:
  const Trace& trace_;
  std::uint64_t told_ = 0;  ///< overflows without a number, of which no report has come yet
  std::uint32_t segment_ = 0, source_ = 0;
};

}  // namespace tare
