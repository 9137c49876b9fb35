// What becomes of a set of FP8 slots of tare's own where more than numbers change: its file is written anew then.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/edit/fp8_values.hpp"

namespace tare {

/// The slots' names with the run of parts `from` in their modules' paths ("layers.0" of "layers.0/input") replaced by
/// `to`, of the layers that are chosen; none where nothing has it. Throws `refused` where two slots would be called the
/// same. REQUIRES: is_tare_fp8(state).
std::vector<NewField> renamed_slots(const FoundScaler& state, const Fp8Choice& choice, std::string_view from,
                                    std::string_view to);

/// Histories of `length` entries: each has its newest where the policy's rule looks for one of its age, and zeros for
/// those that never were. None where the policy keeps no histories. REQUIRES: is_tare_fp8(state).
std::vector<NewField> resized_slots(const FoundScaler& state, std::int64_t length);

/// Whether the container writes it where it stands.
bool stays_in_place(const NewField& field);

}  // namespace tare
