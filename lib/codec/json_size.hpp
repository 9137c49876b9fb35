// How long the JSON of a state becomes, known before it is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/state/scaler_state.hpp"

namespace tare {

/// Throws `unsupported` for more bytes than are read.
void require_room_in_json(std::uint64_t bytes);

/// The same for a state whose text is certainly longer.
void require_room_in_json(const ScalerState& state);

/// Room for the text of a state's numbers: more than it will be, but no more than may be read.
std::size_t most_bytes_in_json(const ScalerState& state);

}  // namespace tare
