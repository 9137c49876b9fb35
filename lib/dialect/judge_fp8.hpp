// What is plainly sick about FP8 state; see also judge (dialect.hpp).
#pragma once

#include <vector>

#include "lib/dialect/found.hpp"

namespace tare {

/// Warnings about the scales and histories of a state of kind "fp8", with the layer as their path.
std::vector<Finding> judge_fp8(const FoundScaler& scaler);

}  // namespace tare
