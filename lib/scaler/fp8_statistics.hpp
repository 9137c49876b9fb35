// What FP8 slots tell of themselves.
#pragma once

#include <string>

#include "lib/state/fp8_set.hpp"

namespace tare {

/// "tare.fp8/1": by slot, the scale, the amax in progress, and what the history says of it.
std::string statistics_json(const Fp8Set& set);

}  // namespace tare
