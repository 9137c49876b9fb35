// How torch pickles a tensor's storage without torch.save: as a stream of its old format (legacy_stream.hpp)
// that holds one storage and nothing else. FP8 state is thousands of these.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
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

/// A stream as torch's own pickler writes it on a little-endian machine.
struct UsualStream {
  StreamedStorage storage;
  Span count_op;  ///< in the object's pickle
};

/// Nothing where an opcode differs. Throws `corrupt` where it is cut short.
std::optional<UsualStream> read_usual_stream(ByteView stream);

/// Its first three pickles: magic number, protocol, system.
extern const std::string_view usual_stream_beginning;

}  // namespace tare
