// What of a trace a later start of the run did again.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/trace/trace.hpp"

namespace tare {

/// A run that resumes takes the steps behind its checkpoint a second time: the trace has both, as they were told. A
/// line without a number lies where it was told, behind the number before it.
class Overwritten {
 public:
  explicit Overwritten(const Trace& trace);

  /// Whether a later start of the run did again what `step` tells. REQUIRES: called with the trace's steps in their
  /// order, each once.
  [[nodiscard]] bool has(const TraceStep& step);

 private:
  const Trace& trace_;
  std::size_t last_numbered_ = 0;     ///< the last segment that has numbers: nothing overwrites it
  std::optional<std::int64_t> last_;  ///< number that the segment told
  std::uint32_t segment_ = 0;
};

}  // namespace tare
