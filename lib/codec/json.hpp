// The state as JSON text: "tare.state/1", and the five plain scalars that lerobot keeps in scaler_state.json.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/state/named_state.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

enum class JsonShape {
  tare,     ///< {"schema": "tare.state/1", "policy": ..., "params": {...}, "fields": {...}, "roles": {...}, ...}
  lerobot,  ///< {"scale": ..., "growth_factor": ..., "backoff_factor": ..., "growth_interval": ..., "_growth_tracker":
            ///< ...}
};

/// Throws `mismatch` where the shape cannot hold the state (lerobot's holds torch's alone).
std::string state_to_json(const ScalerState& state, JsonShape shape = JsonShape::tare);

/// Several states in one text: {"schema": "tare.states/1", "states": [{"path": ..., "state": {...}}, ...]}, each as
/// state_to_json writes it.
std::string states_to_json(std::span<const NamedState> states);

/// What states_to_json wrote, or a single state without a path. Throws as state_from_json does.
std::vector<NamedState> states_from_json(std::string_view text, const std::string& name);

/// Either shape, by what stands in it; `name` is for messages. Throws `corrupt` for what is no JSON or no state,
/// `unsupported` for a newer schema, `mismatch` for values that their policy cannot hold.
ScalerState state_from_json(std::string_view text, const std::string& name);

/// The members of a JSON object as values, in order: a configuration. Throws `invalid_argument`.
StateSection members_of_json(std::string_view text, const std::string& what);

/// One value as JSON text.
std::string value_to_json(const StateValue& value);

}  // namespace tare
