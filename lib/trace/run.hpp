// A trace while it is read: steps come in, in the order of the run; restarts become segments.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/trace/repeated_number.hpp"
#include "lib/trace/trace.hpp"

namespace tare {

/// Whether any step of it has a scale, or was skipped.
bool tells_scale(const Trace& trace);

/// Takes losses and gradient norms of steps that have no scale, and where they stand.
void tell_without_scale(Trace& trace, const TraceSteps& steps, const std::vector<TraceSource>& sources);

class Run {
 public:
  /// Which step a source is, added when it is asked for first.
  std::uint32_t source(const std::string& path, std::string_view kind, std::string_view tag = {});

  /// `teller` tells shapes of lines apart: a second step of the same number and teller is a copy, and dropped, unless
  /// so many scales come with that number that it is no step's: it is then taken off. One with a lower number begins a
  /// segment, and so does the first one behind what ended the run.
  void add(TraceStep step, const void* teller);
  /// A start of the run at `step`, as far as the source tells it: steps from there on that came before are dead.
  void restart(std::int64_t step);
  /// The same, at a step that nothing tells.
  void restart();
  /// Of each code the first few are kept.
  void warn(std::string_view code, std::string text);

  [[nodiscard]] std::optional<std::int64_t> last() const { return last_; }
  [[nodiscard]] bool empty() const { return trace_.steps.empty(); }
  [[nodiscard]] Trace& trace() { return trace_; }
  /// Of equal neighbours among the steps of these sources that have no number, which `ranks` ranks told, one each.
  void merge_copies(const std::vector<std::uint32_t>& sources, std::size_t ranks);
  /// What `other` was told is of steps without a scale.
  void tell_without_scale(const Run& other);
  /// Works out what each segment keeps; nothing is added any more.
  Trace finish();

 private:
  void begin_segment();
  void warn_of_repeated(const TraceStep& step);
  /// A start is seen by its first number. Of lines in front of that which have none those are its own from where the
  /// scale leaps up by more than a growth: a scaler that was not restored begins anew.
  void move_to_starts();

  Trace trace_;
  std::map<std::array<std::string, 3>, std::uint32_t> source_numbers_;
  std::optional<std::int64_t> last_;
  const void* last_teller_ = nullptr;
  RepeatedNumber repeated_;
  std::optional<std::int64_t> warned_repeated_;  ///< the last one
  bool has_died_ = false;                        ///< what was added last ended the run
  bool is_full_ = false;
  std::map<std::string, std::size_t, std::less<>> warned_;
};

}  // namespace tare
