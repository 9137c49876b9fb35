// Zstandard, as checkpoints of arrays use it for chunks and directories.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/bytes.hpp"

namespace tare {

/// What the frame holds. Throws `corrupt` where it is none, or holds more than `most` bytes; `name` is whose it is.
Bytes zstd_content(ByteView frame, std::uint64_t most, const std::string& name);
/// A frame that holds `content`. `level` as Zstandard counts them; 0: its own choice.
Bytes zstd_frame(ByteView content, int level);

}  // namespace tare
