// Which opcodes of a pickle write a value: what an edit cuts out that takes a value away, or puts another in its place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/container/pickle_slack.hpp"

namespace tare {

/// A value that stands in a map or a list.
struct WrittenItem {
  Span value;
  Span item;  ///< with its key, and the opcode that takes them if that takes nothing else; empty in a list
};

/// For each opcode in `wanted` (offsets, ascending) the innermost item whose value it helps to write. REQUIRES: a
/// pickle that read_pickle accepts, from `begin` to `end`. Throws `refused` where one belongs to no item.
std::vector<WrittenItem> written_items(ByteView text, std::uint64_t begin, std::uint64_t end,
                                       std::span<const std::uint64_t> wanted);

/// What else changes if `cuts` (ascending, apart) go: a text or a name that is stored in the memo there and fetched
/// behind is written where it is fetched first. Throws `refused` where that cannot be done.
std::vector<Replacement> kept_memo(ByteView text, std::uint64_t begin, std::uint64_t end, std::span<const Span> cuts);

}  // namespace tare
