// Which policy, with which parameters, reproduces a recorded run exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/health/simulate.hpp"
#include "lib/trace/trace.hpp"

namespace tare {

/// Where a setting first says something else than the trace.
struct Contradiction {
  std::optional<std::int64_t> step;
  std::uint64_t line = 0;
  double told = 0;      ///< scale
  double expected = 0;  ///< what the setting would have had there; of several the first
};

struct Explanation {
  std::vector<SimulatedSetting> exact;  ///< every setting that reproduces the trace, the likeliest first
  std::uint64_t from_reading = 0;       ///< readings in front of the first overflow that were left out, as the run had
                                        ///< begun before the trace
  std::optional<SimulatedSetting> nearest;  ///< of none that does: the one that went furthest
  Contradiction first_contradiction;        ///< of that one
  std::uint64_t readings = 0;               ///< that were compared
  std::uint64_t unseen = 0;                 ///< steps between these of which nothing is told
  std::uint64_t tried = 0;                  ///< settings
  double longest_clean = 0;                 ///< clean steps in a row without a growth, as far as is told
  std::uint64_t left_open = 0;  ///< settings of which the bound on work leaves open whether they reproduce it
  bool is_cut = false;          ///< there are such settings, or windows that were not tried: `exact` may lack some
  bool has_grown = false;       ///< else every window that is longer than these does the same
  bool has_moved = false;       ///< the scale moved: of a run in which it did not, everything reproduces it
};

/// Throws `refused` as observe does.
Explanation explain(const Trace& trace);

/// "megatron, growth_interval 1000, hysteresis 2"
std::string text_of(const SimulatedSetting& setting);

}  // namespace tare
