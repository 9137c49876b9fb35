// Which rule a found state goes on with: the bridge from checkpoints to running scalers.
#pragma once

#include <optional>
#include <string>

#include "lib/dialect/found.hpp"
#include "lib/state/scaler_state.hpp"
#include "lib/state/window_level.hpp"

namespace tare {

/// Says that no policy runs such states, why, and what to do instead. Throws NoRule.
[[noreturn]] void refuse_without_policy(const Dialect& dialect);

/// The state under its policy's own names, values exact, with what the configuration that was saved with it says of the
/// parameters; what the policy has no place for is kept in `other`. Nothing is made up: what the checkpoint does not
/// hold is not in it. Throws NoRule where no policy runs that dialect's state.
ScalerState to_state(const FoundScaler& scaler);

/// Of a state of tare's own: its policy's name, where this tare does not know it.
std::optional<std::string> unknown_policy(const FoundScaler& scaler);

/// Of a state of tare's own: why no scaler starts from it. Nothing where one does, and of other frameworks' states.
std::optional<std::string> why_not_loaded(const FoundScaler& scaler);
/// Why the rule does not start from a state: a counter that its type does not hold. Nothing where it does, or where no
/// policy runs it.
std::optional<std::string> why_not_started(const FoundScaler& scaler);

/// Where an adaptive window stands in its list; nothing for other scalers.
std::optional<WindowLevel> window_level(const FoundScaler& scaler);

}  // namespace tare
