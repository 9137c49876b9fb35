// FP8 state that goes into the layers of a checkpoint.
#pragma once

#include <optional>
#include <string>

#include "lib/migrate/migrate.hpp"

namespace tare {

/// The one FP8 state of the layers that match `layers` (nothing: all). Throws `refused` where there is none, or several
/// (`way` is the option that chooses), and as plain_states does.
ScalerState fp8_state_in(const Checkpoint& checkpoint, const std::optional<std::string>& layers,
                         const std::string& way);

/// As plan_migration. REQUIRES: a state of an FP8 policy.
IntoPlan plan_fp8_migration(const ScalerState& source, const Checkpoint& into, const IntoRequest& request);

}  // namespace tare
