// CRC-32C (Castagnoli), as LevelDB's tables and TensorFlow's checkpoints use it.
#pragma once

#include <cstdint>

#include "lib/base/bytes.hpp"

namespace tare {

inline constexpr std::size_t crc32c_size = sizeof(std::uint32_t);

std::uint32_t crc32c(ByteView bytes);

/// As LevelDB stores it: rotated and shifted, so that the CRC of data which hold CRCs stays sound.
std::uint32_t masked_crc32c(ByteView bytes);

}  // namespace tare
