// What of a pickle's memo has to stay where opcodes are cut out of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/container/pickle/write/memo_room.hpp"

namespace tare {

struct KeptMemo {
  std::vector<Bytes> left;             ///< one a cut: opcodes to stand there, which leave the stack as it is
  std::vector<Replacement> elsewhere;  ///< of opcodes outside the cuts
};

/// What is to be done for what is stored in the memo inside `cuts` (ascending, apart, whole values or items) and
/// fetched outside. Where slots have names, a text or a name is written where it is fetched first, which every reader
/// takes; other values are refused. Where slots are numbered by counting (protocol 4 and later), what is fetched is
/// still made in the cut and then dropped, and the other slots are filled with None. Throws `refused` where neither
/// can be done. REQUIRES: a pickle that read_pickle accepts, from `begin` to `end`.
KeptMemo kept_memo(ByteView text, std::uint64_t begin, std::uint64_t end, std::span<const Span> cuts);

}  // namespace tare
