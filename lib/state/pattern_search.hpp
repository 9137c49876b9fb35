// Every pattern of overflows at once: moments at which both scalers remember the same are one, so that what is two to
// the number of steps on paper is some thousand moments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/rule/running.hpp"

namespace tare {

/// Which scales the search goes through.
enum class SearchedScales : std::uint8_t {
  own,     ///< the scalers' own, bounds and roundings included: exact, and soon too many to go on
  middle,  ///< that of the middle of the range before every step: counters and factors alone, for thousands of steps
};

/// The overflows of the shortest pattern after which the two scales differ, or one rule raises and the other does not;
/// its last step is the one. Nothing: there is none among all that were gone through.
std::optional<std::vector<bool>> shortest_parting(const rule::RunningState& scaler, const rule::RunningState& other,
                                                  SearchedScales scales);

}  // namespace tare
