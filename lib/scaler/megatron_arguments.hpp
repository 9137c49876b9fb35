// Megatron's own arguments as keys of a configuration: --loss-scale, --initial-loss-scale, --min-loss-scale,
// --loss-scale-window, --hysteresis, --fp16, --bf16, and its choice among them.
#pragma once

#include <string_view>

#include "lib/state/scaler_state.hpp"

namespace tare {

/// A configuration of `policy` in its own words, where that is "megatron". As Megatron chooses: a loss_scale other than
/// 0 is a constant scaler; else fp16 is a dynamic one, and bf16, or neither, none. Where neither is spoken of it is
/// fp16. What the choice does not read is left out. Other configurations stay as they are. Throws `invalid_argument`
/// for fp16 with bf16, and for two names of one value. Source: megatron-core 0.19.2,
/// megatron/core/optimizer/__init__.py.
StateSection without_megatron_arguments(const StateSection& config, std::string_view policy);

}  // namespace tare
