// FP8 state of tare's own, as JSON holds it: a set of slots, each with a scale and, where the policy keeps one, a row
// of the histories. A slot goes by its name ("layers.0/input"), as the tensors of other frameworks go by their roles.
#pragma once

#include <string_view>
#include <vector>

#include "lib/dialect/found.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

/// What the state's map `map` comes to. REQUIRES: `policy` is one of FP8.
Match tare_fp8_match(const Tree& tree, NodeId map, std::string_view policy);

/// Whether a scaler was found there.
bool is_tare_fp8(const FoundScaler& scaler);

/// Its slots, of which the state itself names the tensors. REQUIRES: is_tare_fp8(scaler).
std::vector<Fp8Slot> tare_fp8_slots(const FoundScaler& scaler);

/// The state that the file holds. REQUIRES: is_tare_fp8(scaler).
ScalerState tare_fp8_state(const FoundScaler& scaler);
/// That of some of its slots. REQUIRES: of tare_fp8_slots(scaler).
ScalerState tare_fp8_state(const FoundScaler& scaler, const std::vector<Fp8Slot>& slots);

}  // namespace tare
