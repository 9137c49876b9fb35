// What a rule remembers from step to step besides the scale, so that two moments at which it would go on alike are
// equal.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/rule/running.hpp"

namespace tare {

/// The counters in the order of the policy's fields. Steps are counted back from the present one: rules look at
/// distances alone.
std::vector<std::int64_t> memory_of(const rule::RunningState& scaler);

}  // namespace tare
