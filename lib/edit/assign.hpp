// Values that a user gives to the fields of a scaler, and copies that disagree brought to one state.
#pragma once

#include <optional>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/edit/request.hpp"
#include "lib/edit/state_work.hpp"

namespace tare {

/// Scalers that are edited as one: a single one, or all that disagree and are to be aligned.
using ScalerGroup = std::vector<const Scaler*>;

/// The one that most files hold; of equals the first.
const Scaler& most_common(const ScalerGroup& group);

/// Where as many files hold another state as hold that one: that nobody has said which of them is right.
std::optional<Finding> told_of_tie(const Checkpoint& checkpoint, const ScalerGroup& group, const Scaler& chosen);

/// The number of a field of what a state becomes. Throws `refused` where it has none of that name.
std::size_t index_of(const Checkpoint& checkpoint, const StateWork& state, const std::string& name);

/// Makes what a state becomes equal to the reference. Throws `refused` where it has other fields, or fields whose kind
/// cannot be changed.
void align(const Checkpoint& checkpoint, StateWork& state, const FoundScaler& reference);

/// Throws `invalid_argument` where two of the assignments give one field values: the second would win unseen.
void require_each_once(const FoundScaler& state, const std::vector<Assignment>& assignments);

/// Gives all of `states` what the assignments say. Throws what new_value throws.
void assign(const Checkpoint& checkpoint, std::vector<StateWork>& states, const FoundScaler& reference,
            const std::vector<Assignment>& assignments, bool force);

}  // namespace tare
