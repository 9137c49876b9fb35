// What the calls about a run have in common: its paths, and where its rules draw their lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/health/thresholds.hpp"
#include "lib/state/value.hpp"

namespace tare::capi {

/// Throws `invalid_argument` for none at all and for NULL.
std::vector<std::string> paths_of(const char* const* paths, std::uint64_t count);

/// Puts an object of thresholds there. Throws `invalid_argument` for names that are none.
void take_thresholds(Thresholds& thresholds, const StateValue& value);

/// Where an option of that kind goes.
inline auto into_thresholds(Thresholds& thresholds) {
  return [&thresholds](const StateValue& value) { take_thresholds(thresholds, value); };
}

}  // namespace tare::capi
