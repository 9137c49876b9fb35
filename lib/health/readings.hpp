// A trace's kept steps as they are compared with a rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/trace/trace.hpp"

namespace tare {

struct ScaleReading {
  std::optional<double> before, after;
  std::optional<bool> overflow;          ///< of all its steps
  std::optional<std::uint64_t> skipped;  ///< of its steps
  std::uint64_t span = 1;
  std::uint64_t unseen = 0;  ///< steps before it of which nothing is told
  std::optional<std::int64_t> step;
  std::uint64_t line = 0;
  bool is_fatal = false;   ///< the run ended with it
  bool is_inside = false;  ///< one of the skipped steps of the interval behind it, which counts it, too
};

/// Readings beyond so many are left out: a rule that holds for millions holds.
inline constexpr std::size_t most_readings = 4'000'000;

std::vector<ScaleReading> scale_readings(const Trace& trace);

/// Where the reading stands that `at` belongs to: itself, or the interval that it is inside of.
/// REQUIRES: at < readings.size().
std::size_t interval_of(const std::vector<ScaleReading>& readings, std::size_t at);

/// What the readings suggest as parameters, each list the likeliest first.
struct Suggestions {
  std::vector<double> windows, hysteresis, growth_factors, backoff_factors, floors;
  double highest = 0;
  bool are_windows_cut = false;  ///< others are possible, and not among these
  bool has_moved = false;
  bool has_intervals = false;  ///< it is open at which step of a reading something happened
  double longest_clean = 0;    ///< steps without a growth, as far as is told: no window is shorter
  bool has_grown = false;      ///< else any longer window does the same
};

Suggestions suggestions_of(const std::vector<ScaleReading>& readings);

}  // namespace tare
