// Text in UTF-16, which PowerShell 5's `>` and `Tee-Object` make of what a program says, read as UTF-8.
#pragma once

#include <memory>

#include "lib/base/byte_stream.hpp"
#include "lib/base/bytes.hpp"

namespace tare {

/// A byte order mark, and text behind it: none of the first units is 0.
bool starts_like_utf16(ByteView head);

/// The same text in UTF-8, without the mark. Halves of a pair alone become U+FFFD, as does an odd byte at the end.
/// REQUIRES: it starts with bytes of which starts_like_utf16 is true.
std::unique_ptr<ByteStream> utf8_stream(std::unique_ptr<ByteStream> utf16, ByteView head);

}  // namespace tare
