// The bridge from the FP8 state of a checkpoint's layers to running slots.
#pragma once

#include <span>

#include "lib/dialect/found.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

/// The state of all slots of `layers` as the policy of their framework keeps it; slots are called LAYER/TENSOR.
/// Histories stand as the framework's array, what the recipe says of margin and algorithm among the parameters. Throws
/// `unsupported` for a framework without such a policy, `mismatch` where layers are of several frameworks, or their
/// histories of several lengths.
ScalerState fp8_state_of(std::span<const FoundScaler* const> layers);

}  // namespace tare
