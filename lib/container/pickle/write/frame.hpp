// Protocol 4's frames: how many bytes follow, written in front of them.
#pragma once

#include <span>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/container/pickle/write/memo_room.hpp"

namespace tare {

/// Adds to `replacements` what makes the frames hold again: their lengths; and where a frame begins inside what is
/// replaced, its rest begins behind that. `frames`: the contents of each, in order. REQUIRES: replacements that do not
/// overlap, in any order; sorts them.
void mend_frames(std::span<const Span> frames, std::vector<Replacement>& replacements);

}  // namespace tare
