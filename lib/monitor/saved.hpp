// What a monitor remembers, as a state: what tare_monitor_save gives, and files of states hold beside scalers'.
#pragma once

#include <cstdint>

#include "lib/monitor/memory.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare::monitor {

struct Saved {
  std::int64_t steps = 0;  ///< that ended
  Memory memory;
};

/// Layers by name, so that equal memories are equal states.
ScalerState to_state(const Saved& saved);

/// Throws `mismatch` for a state of another policy and for one that lacks a value or holds what no monitor saves,
/// `unsupported` for one of a newer version.
Saved saved_from(const ScalerState& state);

}  // namespace tare::monitor
