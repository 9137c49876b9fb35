// Room inside a pickle. Picklers store every string, tuple and dict in the memo, though few are fetched again: the
// opcodes that fill slots which nothing fetches can go, or be written longer or shorter, and nobody notices.
#pragma once

#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/container/pickle/read/opcode.hpp"

namespace tare {

/// Bytes to stand instead of `place`.
struct Replacement {
  Span place;
  Bytes after;
};

/// What one pass over a pickle tells about its memo and frames.
struct PickleLayout {
  struct Put {
    PickleOp op;
    std::uint64_t index = 0;
  };
  std::vector<Put> unfetched;               ///< opcodes that fill slots which nothing fetches
  std::vector<Span> frames;                 ///< the contents of each frame
  std::vector<std::uint64_t> walls;         ///< opcodes whose arguments may have been left out: see elided_text.hpp
  std::optional<std::uint64_t> spare_slot;  ///< below 256, set by nobody's fetch: for a BINPUT of no effect
};

/// The number of the slot that an opcode fetches or fills. REQUIRES: one that names it.
std::uint64_t memo_index(const PickleOp& op);

/// REQUIRES: a pickle that read_pickle accepts, from `begin` to `end` in `text`; `hopped` is what that hopped over.
PickleLayout survey_pickle(ByteView text, std::uint64_t begin, std::uint64_t end, std::span<const Span> hopped = {});

/// Replacements near `around` that make the pickle `bytes_wanted` shorter (longer, where negative): exactly, or
/// nothing. No wall stands between them.
std::optional<std::vector<Replacement>> make_room(const PickleLayout& layout, Span around, std::int64_t bytes_wanted);

}  // namespace tare
