// What a monitor remembers of the steps that it looked at: all that a resumed run needs to go on with its findings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/monitor/observed.hpp"

namespace tare::monitor {

struct LayerStreaks {
  Streak lost;      ///< too much of it is zero
  Streak all_zero;  ///< all of it is
  Streak torn;      ///< too much is zero, and there is no room for a greater scale

  friend bool operator==(const LayerStreaks&, const LayerStreaks&) = default;
};

struct Look {
  std::int64_t step = 0;
  std::optional<double> lost;
  std::optional<ScalerSeen> scaler;  ///< once its first search for a scale is over

  friend bool operator==(const Look&, const Look&) = default;
};

inline constexpr std::size_t most_looks = 1000;

struct Memory {
  std::vector<Look> looks;           ///< of the last thousand steps, by step; most_looks at most
  std::int64_t last_skipped = -1;    ///< by the scaler's count, until it has settled
  std::int64_t skipped_at = 0;       ///< step of the scaler
  bool is_settled = false;           ///< the first search for a scale is over
  std::optional<ScalerSeen> scaler;  ///< of the last look that had one
  double stuck_steps = 0;            ///< skipped in a row, at a scale that did not move
  std::int64_t stuck_since = 0;
  Streak lost, low_scale, overflowing;
  bool has_been_finite = false;
  std::unordered_map<std::string, LayerStreaks> layers;

  friend bool operator==(const Memory&, const Memory&) = default;
};

}  // namespace tare::monitor
