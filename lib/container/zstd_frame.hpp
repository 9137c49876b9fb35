// Zstandard, as checkpoints of arrays use it for chunks and directories.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/budget.hpp"
#include "lib/base/bytes.hpp"

namespace tare {

/// What the frame holds, taken from `budget` if there is one. Throws `corrupt` where it is none, or holds more than
/// `most` bytes; `name` is whose it is.
Bytes zstd_content(ByteView frame, std::uint64_t most, const std::string& name, Budget* budget);
/// A frame that holds `content`. `level` as Zstandard counts them; 0: its own choice.
Bytes zstd_frame(ByteView content, int level);

}  // namespace tare
