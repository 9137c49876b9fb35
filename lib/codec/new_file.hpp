// A file that appears whole or not at all: written beside under another name, synced, and renamed.
#pragma once

#include <span>
#include <string>

#include "lib/base/bytes.hpp"

namespace tare {

/// Puts `bytes` at `path`, with the mode of the file that was there, if one was. A link is followed: what it points to
/// is replaced. Throws `refused` where that is no regular file, `io` where writing fails, and leaves nothing behind
/// then.
void write_whole_file(const std::string& path, ByteView bytes);
/// The same of pieces, one behind the other.
void write_whole_file(const std::string& path, std::span<const ByteView> pieces);

}  // namespace tare
