// What every format is read into: nodes in one arena, addressed by number. Values can be shared and can even contain
// themselves, so whoever walks a tree remembers where it was; nothing here recurses.
#pragma once

#include <cstdint>
#include <limits>

namespace tare {

using NodeId = std::uint32_t;
inline constexpr NodeId nowhere = std::numeric_limits<NodeId>::max();

enum class Kind : std::uint8_t {
  none,
  boolean,
  integer,
  floating,
  string,
  bytes,
  list,
  tuple,
  set,
  map,
  tensor,  ///< torch tensor: data outside the text, at a place that the container knows
  array,   ///< numpy scalar or array: data in the text
  name,    ///< a class or function that the file names: never imported
  opaque,  ///< an instance or a call of something unknown: its arguments and state stay visible, it is never run
};

/// Where a node's run points to.
enum class RunIn : std::uint8_t {
  text,   ///< into the bytes that were read
  side,   ///< into text that the tree keeps itself: decoded escapes, integers beyond int64
  items,  ///< into the item store
};

/// 16 bytes: a checkpoint has tens of thousands of these, and most are never looked at again.
struct Node {
  struct Run {
    std::uint32_t first, count;
  };

  std::uint32_t begin = 0;  ///< where its bytes start in the text it was read from
  Kind kind = Kind::none;
  RunIn store = RunIn::text;
  union {
    std::uint16_t size = 0;  ///< how many bytes encode it, as node_size gives them
    std::uint16_t detail;    ///< names, tensors, arrays: the container's own note on what it stands for
  };
  union {
    bool boolean;
    std::int64_t integer;
    double floating;
    Run run;
  } as{.integer = 0};
};
static_assert(sizeof(Node) == 16);

/// Sizes beyond 16 bits, which no number has, are kept as the largest.
constexpr std::uint16_t node_size(std::uint64_t size) {
  constexpr std::uint16_t most = std::numeric_limits<std::uint16_t>::max();
  return size > most ? most : static_cast<std::uint16_t>(size);
}

}  // namespace tare
