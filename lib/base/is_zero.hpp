// Bytes that hold nothing.
#pragma once

#include <algorithm>

#include "lib/base/bytes.hpp"

namespace tare {

inline bool is_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace tare
