// How torch pickles a tensor's storage without torch.save: as a stream of its old format (torch_legacy.hpp) that holds
// one storage and nothing else. FP8 state is thousands of these.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "lib/base/bytes.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

struct StreamedStorage {
  ElementType type;
  std::int64_t count = 0;
  std::endian order = std::endian::little;
  Span data;  ///< in the stream
};

/// Throws `corrupt` where `stream` is something else, or cut short.
StreamedStorage read_streamed_storage(ByteView stream);

/// A stream of that storage class ("FloatStorage") from nothing. REQUIRES: whole elements, little-endian.
Bytes new_stream(std::string_view storage_class, ByteView elements);

/// The same stream with other elements, little-endian. Throws `refused` where it is not written as torch does.
Bytes stream_with_elements(ByteView stream, std::int64_t count, ByteView elements);

}  // namespace tare
