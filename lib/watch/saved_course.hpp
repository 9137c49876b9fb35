// A run that its checkpoints alone tell of: what they told stays told when a run keeps the last few, or writes over
// one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "lib/trace/trace.hpp"

namespace tare {

class SavedCourse {
 public:
  /// Takes the steps of checkpoints that are there, in the order of the steps. What is new goes on behind those before.
  void take(const Trace& saved);
  /// Whether all of them are from before what was told last: the run does, or the newest are not there yet.
  [[nodiscard]] bool goes_back(const Trace& saved) const;
  /// Every step that was taken. A checkpoint that was written over with an earlier step begins a segment, unless it
  /// is another one under a new name.
  [[nodiscard]] const Trace& trace() const { return trace_; }

 private:
  struct Told {
    std::optional<std::int64_t> step;
    std::optional<double> after;

    auto operator<=>(const Told&) const = default;
  };

  [[nodiscard]] std::set<Told> told_so_far() const;
  void begin_segment();
  void add(TraceStep step);
  [[nodiscard]] TraceStep rest_of(TraceStep step) const;
  [[nodiscard]] std::optional<std::uint64_t> skipped_by(std::int64_t step) const;

  Trace trace_;
  std::map<std::string, Told> told_;                  ///< of each path the last one
  std::optional<std::int64_t> last_;                  ///< of the segment
  std::uint64_t skipped_ = 0;                         ///< steps that were told so
  std::map<std::int64_t, std::uint64_t> skipped_by_;  ///< what that was at each step
};

}  // namespace tare
