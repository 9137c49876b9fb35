// Between a running rule and the one state.
#pragma once

#include "kernels/rule/policy.hpp"
#include "kernels/rule/running.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

using rule::RunningState;

ScalerState to_state(const RunningState& running);

/// What the state does not name starts as in a fresh scaler of its policy; unknown names are left alone. Values are
/// taken as they are: a file may hold what a configuration may not. Throws `mismatch` for a value that the policy
/// cannot hold, `unsupported` for a policy that this tare does not know.
RunningState start_from(const ScalerState& given);

/// Throws `mismatch` and lists the fields whose names are nearly the policy's, and the parameters that it does not
/// know: they would be dropped. Fields by other names are a file's own. Nothing for a policy that this tare does not
/// know.
void require_known_names(const ScalerState& given);

/// The state with every field that its policy has: what it does not name is as in a fresh scaler of its parameters,
/// which is how a framework resumes what its file does not hold. Throws `unsupported` for a policy that this tare does
/// not know.
ScalerState completed(const ScalerState& given);

/// Puts a state of the same policy into a running scaler: every field must be there and nothing that the policy does
/// not know; parameters that the state lacks stay. All or nothing: throws `mismatch` and lists what is missing, what is
/// extra and what is wrong.
void load_into(RunningState& running, const ScalerState& given);

}  // namespace tare
