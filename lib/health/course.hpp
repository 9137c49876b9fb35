// The course of a run: a trace as the rules look at it. Readings that are alike are one stretch, so that a run of
// millions of steps is some thousand of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/trace/trace.hpp"

namespace tare {

/// A floor that frameworks have by default; apex and torch have none.
inline constexpr double usual_floor = 1;

/// Whose scale never stays at a floor: it raises there (fairseq 0.12.2, optim/dynamic_loss_scaler.py).
inline constexpr std::string_view without_floor = "fairseq-log";

/// Where in which source something stands.
struct CoursePlace {
  std::optional<std::int64_t> step;
  std::uint64_t line = 0;
  std::uint32_t source = 0, segment = 0;
};

CoursePlace place_of(const TraceStep& step);

/// Of what a message names the place of by itself.
inline constexpr CoursePlace no_place{.step = {}, .source = UINT32_MAX};

enum class StretchKind : std::uint8_t {
  clean,     ///< no overflow that is told or shows
  overflow,  ///< nothing but overflows
  mixed,     ///< an interval that has both
};

struct Stretch {
  StretchKind kind = StretchKind::clean;
  CoursePlace first;
  std::optional<std::int64_t> last_step;
  double before = 0, after = 0;                        ///< the scale that it began with, and that it left
  std::uint64_t steps = 0;                             ///< that are told of
  std::uint64_t most_steps = 0;                        ///< with those between a reading and the one before it
  std::uint64_t unseen_before = 0, unseen_within = 0;  ///< steps of which nothing is told
  std::uint64_t at_told = 0;    ///< of the steps, those with a scale: DeepSpeed's reports have none, and hide growths
  std::uint64_t sampled = 0;    ///< of those, the steps that a scale of every tenth or so stands for
  std::uint64_t overflows = 0;  ///< at least so many
  bool grew_before = false;     ///< the scale grew unseen since the stretch before
  bool is_adjacent = true;      ///< no step lies unseen between it and the stretch before, as far as is told
  bool is_told = true;          ///< overflows are told, not only shown by the scale's fall
  bool is_fatal = false;        ///< the run ended with it
  bool is_top_told = true;      ///< else `before` is the least that it can have been
  /// Those at its front of a report whose overflows were told before it: as well these may lie behind them.
  std::uint64_t rest = 0;

  /// It is nothing else.
  [[nodiscard]] bool is_rest() const { return rest > 0 && rest == steps; }

  /// An interval that hides a growth, or overflows that a hysteresis takes: it leaves the scale where it was. Where
  /// nothing told that, few overflows are no part of a fall behind it.
  [[nodiscard]] bool is_level() const {
    if (kind != StretchKind::mixed || after <= usual_floor) return false;
    return is_top_told ? before == after : most_steps > 20 * overflows;
  }
};

/// Overflows that follow each other without a growth between them.
struct Fall {
  std::size_t first = 0, last = 0;  ///< indices into Course::stretches
  std::uint64_t overflows = 0;      ///< at least
  std::uint64_t steps = 0;          ///< from the first of them to the last, at least
  std::uint64_t most_steps = 0;     ///< the same, with all of the intervals that it begins and ends in
  std::uint64_t whole_steps = 0;    ///< the same, with all that may lie at its ends
  double top = 0, bottom = 0;       ///< the scale before and after
  std::uint64_t clean_after = 0;    ///< clean steps that follow, as far as is told
  bool is_at_start = false;         ///< of the run, before any window without overflow
  bool is_fatal = false;

  /// Overflows on both sides of a report's edge may be one row; few of them in long reports are not taken for one.
  [[nodiscard]] bool is_in_a_row() const {
    return 2 * overflows >= whole_steps || (2 * overflows >= steps && most_steps <= 20 * overflows);
  }
  [[nodiscard]] double octaves() const;
};

/// A growth behind something that began a count: an overflow, or another growth.
struct ToldGrowth {
  CoursePlace at;
  double clean = 0;  ///< steps since then, as far as is told
};

/// Steps whose scale is inf or nan.
struct BrokenScale {
  CoursePlace began;
  double before = 0;  ///< the last scale that was a number; 0: none was told
  double scale = 0;   ///< what became of it first
  std::uint64_t steps = 0;
  std::optional<CoursePlace> ended = {};  ///< where the scale is a number again, and stays one
};

struct Course {
  std::vector<Stretch> stretches;  ///< of steps whose scale is told, or was told before
  std::vector<Fall> falls;
  std::vector<ToldGrowth> growths;
  std::optional<BrokenScale> broken;             ///< of those no stretch is made
  std::uint64_t steps = 0;                       ///< that are told of
  std::uint64_t overflows = 0;                   ///< at least
  std::int64_t stride = 1;                       ///< between the numbers of two readings that follow each other
  double hysteresis = 1;                         ///< overflows that a back-off was seen to need
  std::optional<double> window, longest_window;  ///< clean steps up to a growth: the fewest and the most seen
  std::uint64_t contradictions = 0;  ///< falls of the scale in steps of which the log says that none was skipped
  CoursePlace first_contradiction;
  double backoffs_a_growth = 1;  ///< that bring the scale back to where it grew from; Paddle's are smaller
  bool tells_skips = false;      ///< of some step, that it was skipped or was not
  bool has_scale = false;
  bool has_steps = false;  ///< readings have numbers
};

/// What is kept of a trace: steps that a later start of the run overwrote are left out.
Course course_of(const Trace& trace);

}  // namespace tare
