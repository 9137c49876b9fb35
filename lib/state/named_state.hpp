// A state and where it was found: a checkpoint may hold several.
#pragma once

#include <string>
#include <string_view>

#include "lib/state/scaler_state.hpp"

namespace tare {

/// Of a file that holds several states.
inline constexpr std::string_view states_schema = "tare.states/1";

struct NamedState {
  std::string path;  ///< in the checkpoint; of FP8 state, which is that of many layers, the framework's name
  ScalerState state;
};

}  // namespace tare
