// All scaler state of a checkpoint, freed from the files that it stands in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/state/named_state.hpp"

namespace tare {

/// Every loss scaler, and the FP8 state of all layers: one state for each framework, length of history and recipe. `at`
/// is the path of one scaler, or a pattern of layers. Throws as chosen_scalers does, and `unsupported` for FP8 state
/// that no policy runs.
std::vector<NamedState> plain_states(const Checkpoint& checkpoint, const std::optional<std::string>& at);

/// What the recipes of those layers say and plain_states leaves out; warnings.
std::vector<Finding> lost_in_plain_states(const Checkpoint& checkpoint, const std::optional<std::string>& at);

}  // namespace tare
