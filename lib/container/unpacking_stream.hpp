// Streams that are compressed as a whole, gzip or Zstandard, unpacked piece by piece: of any size, in little memory.
#pragma once

#include <memory>

#include "lib/base/byte_stream.hpp"
#include "lib/base/bytes.hpp"

namespace tare {

bool starts_like_packed_stream(ByteView head);

/// What `packed` unpacks to: members and frames one after the other. What is damaged ends it, with a problem().
/// REQUIRES: it starts with bytes of which starts_like_packed_stream is true.
std::unique_ptr<ByteStream> unpacking_stream(std::unique_ptr<ByteStream> packed, ByteView head);

}  // namespace tare
