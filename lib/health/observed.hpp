// What a trace says of the gradients of each step. Whatever they were, there is a scale up to which a step is clean and
// above which it overflows: a clean step at S means that it is at least S, an overflow at S that it is less. Nothing
// more is known, unless a log also tells the largest gradient.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/trace/trace.hpp"

namespace tare {

/// Steps in a row of which the same is known: clean at scales up to `clean_to`, overflowing from `overflow_from` on.
struct ObservedSteps {
  double clean_to = 0;
  double overflow_from = 0;
  std::uint64_t steps = 1;
  bool is_incurable = false;  ///< NaN at whatever scale

  bool operator==(const ObservedSteps&) const = default;
};

struct ObservedRun {
  std::vector<ObservedSteps> steps;
  /// That the run may have begun with: several where the first reading tells of skipped steps, none where none is told.
  std::vector<double> first_scales;
  std::uint64_t count = 0;           ///< of steps
  std::uint64_t overflows = 0;       ///< that are told, or that a fall of the scale shows: one a fall
  std::uint64_t unknown = 0;         ///< steps of which nothing is known
  std::uint64_t untold_skips = 0;    ///< those of which it is not told, either, whether they were skipped
  std::uint64_t untold_scales = 0;   ///< steps of which it is not told on which side of the scale asked for they ran
  std::uint64_t taken_as_clean = 0;  ///< because the scale did not fall: a hysteresis could hide an overflow there
  std::uint64_t incurable = 0;
  std::uint64_t below = 0;  ///< steps that ran below the scale that was asked for, as far as is told
  double log2_sum = 0;      ///< of the scales that are told
  std::uint64_t log2_count = 0;
  bool is_rough = false;  ///< in some of the spans the scale moved: they count as it was when they began
};

/// What float16 rounds to infinity: half a step behind its largest finite number. A gradient that the scale takes so
/// far is an overflow.
inline constexpr double half_overflow = 65520;

/// Of the steps that were kept. `maxima`: a trace whose values are the largest absolute gradients, unscaled, or null.
/// Throws `refused` where the trace does not tell of clean steps: overflows alone say nothing of other settings.
ObservedRun observe(const Trace& trace, double below, const Trace* maxima = nullptr);

}  // namespace tare
