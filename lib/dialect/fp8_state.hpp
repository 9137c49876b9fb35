// The bridge from the FP8 state of a checkpoint's layers to running slots.
#pragma once

#include <span>
#include <string>

#include "lib/dialect/found.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

/// What the layer's recipe says that a state has among its parameters: "margin 2.0, amax_compute_algo max". Throws
/// `mismatch` for one that says two things.
std::string recipe_text(const FoundScaler& layer);

/// What it says that a state has no place for, where it is not what TransformerEngine takes unasked:
/// "recipe.reduce_amax = False", or a function of the user's own. Empty where there is nothing.
std::string recipe_without_parameters(const FoundScaler& layer);

/// The state of all slots of `layers` as the policy of their framework keeps it; slots are called LAYER/TENSOR.
/// Histories stand as the framework's array, what the recipe says of margin and algorithm among the parameters. Throws
/// `unsupported` for a framework without such a policy, `mismatch` where layers are of several frameworks, or their
/// histories of several lengths, or their recipes say several things.
ScalerState fp8_state_of(std::span<const FoundScaler* const> layers);

}  // namespace tare
