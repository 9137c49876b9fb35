// Numbers in seven bits a byte, least significant first: protobuf's and LevelDB's.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/bytes.hpp"

namespace tare {

/// Takes one from the front of `from`; nothing where it does not end within it or within 64 bits.
inline std::optional<std::uint64_t> take_varint(ByteView& from) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(from[0]);
    from = from.subspan(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

/// Adds one, in as few bytes as it takes.
inline void append_varint(Bytes& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
  to.push_back(static_cast<std::byte>(value));
}

}  // namespace tare
