// One framework's FP8 state in another framework's terms, with the same account as loss scales get (convert.hpp).
#pragma once

#include <string_view>

#include "lib/state/convert.hpp"

namespace tare {

/// Scales keep what they multiply by, histories their amaxes from the newest on and their length: whatever the source
/// looked back at when it stops, the target looks back at. Frozen is what goes into "fp8_static": scales that no step
/// moves any more. The two rules are not run side by side: `divergence` is empty, `warnings` say how they differ.
/// `given` are parameters of the target, by name or role, that are to be others than the source's: a history of another
/// length keeps the newest entries. `existing` are parameters of slots that take the state over: they stay as they are.
/// Throws `unsupported` for fp8_lm, whose mu is no tensor's scale; `invalid_argument`
/// for a target that is none of FP8, or given what it does not have; `mismatch` for a state that does not fit its
/// policy.
Conversion convert_fp8(const ScalerState& source, std::string_view policy, const StateSection& given = {},
                       const StateSection& existing = {});

}  // namespace tare
