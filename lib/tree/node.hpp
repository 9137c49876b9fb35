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

/// 24 bytes: a checkpoint has hundreds of thousands of these, and most are never looked at.
struct Node {
  std::uint32_t begin = 0;   ///< where its bytes start in the text it was read from
  std::uint32_t size = 0;    ///< how many bytes encode it (the scalar's opcode and argument; 0: no bytes of its own)
  std::uint32_t places = 0;  ///< how many slots of the tree refer to it
  Kind kind = Kind::none;
  std::uint8_t detail = 0;   ///< the container's own note on how it was encoded
  std::uint16_t unused = 0;
  union {
    bool boolean;
    std::int64_t integer;
    double floating;
    struct {
      std::uint32_t first, count;  ///< string/bytes: in the text (or the side store); containers: in the item store
    } run;
  } as{.integer = 0};
};
static_assert(sizeof(Node) == 24);

}  // namespace tare
