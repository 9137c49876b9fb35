// Another length of the histories of FP8 slots.
#pragma once

#include <string_view>

#include "lib/state/fp8_set.hpp"

namespace tare {

/// Whether that is the length of the set's histories, as its policy or tare calls it.
bool is_history_length(const Fp8Set& set, std::string_view key);

/// The set with histories that are `length` long: each entry where the rule looks for one of its age, as many as there
/// is room for; zeros for those that never were. Throws `mismatch` for a length of another kind or out of range, or
/// more entries than a set may have. REQUIRES: is_history_length.
Fp8Set with_history_length(const Fp8Set& set, std::string_view key, const StateValue& length);

}  // namespace tare
