// Protobuf messages as a test writes them, sound or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tare::test {

/// Seven bits a byte, least significant first.
inline std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(0x80 | (number & 0x7f));
  return bytes + static_cast<char>(number);
}

inline std::string number_field(std::uint64_t field, std::uint64_t number) {
  return varint(field << 3) + varint(number);
}

/// Bytes, text or a message.
inline std::string run_field(std::uint64_t field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

}  // namespace tare::test
