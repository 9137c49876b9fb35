// Which opcodes of a pickle write a value: what an edit cuts out that takes a value away, or puts another in its place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/bytes.hpp"

namespace tare {

/// A value that stands in a map or a list; both empty for one that stands in neither.
struct WrittenItem {
  Span value;
  Span item;  ///< with its key, and the opcode that takes them if that takes nothing else; empty in a list
};

/// For each opcode in `wanted` (offsets, ascending) the item whose value it leaves on top of the stack, or whose
/// function's arguments it begins. REQUIRES: a pickle that read_pickle accepts, from `begin` to `end`.
std::vector<WrittenItem> written_items(ByteView text, std::uint64_t begin, std::uint64_t end,
                                       std::span<const std::uint64_t> wanted);

}  // namespace tare
