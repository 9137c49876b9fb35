// tare's own states, which its scalers save and load (lib/codec), found in trees like any framework's.
#pragma once

#include "lib/dialect/found.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

/// Whether a scaler was found in a file of tare's own.
bool is_own(const FoundScaler& scaler);

/// The state that the file holds, every section of it. REQUIRES: is_own(scaler).
ScalerState own_state(const FoundScaler& scaler);

}  // namespace tare
