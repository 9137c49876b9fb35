// Objects that nobody will ask for, stepped over: what their opcodes do to the stack and to the memo is followed, what
// they say is not read. The metadata of large checkpoints are tens of thousands of these.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/bytes.hpp"

namespace tare {

/// The opcodes that instantiate a fetched class and give the object its state.
struct SkippedObject {
  std::uint64_t end = 0;       ///< one behind BUILD
  std::uint64_t memoized = 0;  ///< how many values MEMOIZE stored
};

/// The object whose EMPTY_TUPLE and NEWOBJ start at `begin`, behind its class. Nothing where it is made otherwise,
/// names a class or function that was not named before, stores under memo numbers of its own, or fetches one that is
/// not below `memo_size`: all that is left to the machine.
std::optional<SkippedObject> skip_object(ByteView text, std::uint64_t begin, std::uint64_t memo_size);

}  // namespace tare
