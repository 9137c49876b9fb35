// How torch's pickler writes almost every tensor: one fixed run of some twenty opcodes. Large checkpoints are thousands
// of these and little else, so the machine takes one as a whole and leaves its parts unread until somebody asks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/tree/node.hpp"

namespace tare {

/// ( ("storage", class, key, device, count[, None]) BINPERSID, offset, sizes, strides, flag, OrderedDict() ) REDUCE
/// with "storage", class, device and OrderedDict fetched from the memo, and the rest written out (key and tuples: or
/// fetched). Slots are numbers in the memo, no_slot where there is none.
struct TensorPattern {
  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};
  static constexpr std::size_t most_slots = 8;

  /// A tuple of numbers: written out, or fetched where several tensors are given one tuple.
  struct Numbers {
    Span ops;
    std::uint32_t slot = no_slot;
  };

  std::uint64_t begin = 0;  ///< of the arguments' mark, right behind the opcode that fetches the function
  std::uint64_t end = 0;    ///< one behind REDUCE and the opcode that stores its result
  std::uint32_t word_slot = 0, class_slot = 0, device_slot = 0, hooks_slot = 0;
  std::uint32_t key_slot = no_slot;  ///< the key is fetched: another tensor has the same storage
  Span key_op;                       ///< else the opcode that writes it
  std::uint32_t key_stored = no_slot, result_stored = no_slot;
  std::array<std::uint32_t, most_slots> stored;  ///< the slots that all other parts are stored in
  std::size_t stored_count = 0;
  std::int64_t storage_count = 0;
  std::int64_t offset = 0;
  Span storage_id;  ///< from the mark to one behind the tuple
  Span offset_op;
  Numbers sizes, strides;
};

/// What a tensor's node keeps instead of its parts: the function, no arguments, no state, no contents, then storage
/// class, key, device, and the tuples that were fetched.
using UnreadParts = std::array<NodeId, 9>;
namespace unread_part {
inline constexpr std::size_t storage_class = 4, key = 5, device = 6, sizes = 7, strides = 8;
}

/// The pattern that starts at `begin`, or nothing where the opcodes there are any others.
std::optional<TensorPattern> read_tensor_pattern(ByteView text, std::uint64_t begin);

/// The numbers of a tuple that is written out. REQUIRES: opcodes that read_tensor_pattern gave.
std::vector<std::int64_t> recipe_numbers(ByteView text, Span ops);

}  // namespace tare
