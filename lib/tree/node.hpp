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

/// Small: a checkpoint has hundreds of thousands of these, and most are never looked at.
struct Node {
  struct Run {
    std::uint32_t first, count;
  };

  std::uint32_t begin = 0;  ///< where its bytes start in the text it was read from
  std::uint32_t size = 0;   ///< how many bytes encode it (a scalar's opcode and argument; 0: no bytes of its own)
  Kind kind = Kind::none;
  RunIn store = RunIn::text;
  std::uint16_t detail = 0;  ///< the container's own note: how it was encoded, what a name stands for
  union {
    bool boolean;
    std::int64_t integer;
    double floating;
    Run run;
  } as{.integer = 0};
};
static_assert(sizeof(Node) == 24);

}  // namespace tare
