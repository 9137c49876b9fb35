// Streams of one storage (storage_stream.hpp), written.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/base/bytes.hpp"

namespace tare {

/// A stream of that storage class ("FloatStorage") from nothing. REQUIRES: whole elements, little-endian.
Bytes new_stream(std::string_view storage_class, ByteView elements);

/// The same stream with other elements, little-endian. Throws `refused` where it is not written as torch does.
Bytes stream_with_elements(ByteView stream, std::int64_t count, ByteView elements);

}  // namespace tare
