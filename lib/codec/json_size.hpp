// Whether a state fits into JSON, known before its values become many small ones that take more memory than their text.
#pragma once

#include <cstdint>

#include "lib/state/scaler_state.hpp"

namespace tare {

/// Throws `unsupported` for more bytes than are read.
void require_room_in_json(std::uint64_t bytes);

/// The same for a state whose text is certainly longer.
void require_room_in_json(const ScalerState& state);

}  // namespace tare
