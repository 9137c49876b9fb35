// CRC-32 (the zip one), and how it follows from a change without reading the rest.
#pragma once

#include <cstdint>

#include "lib/base/bytes.hpp"

namespace tare {

std::uint32_t crc32(ByteView bytes);

/// The CRC-32 of two runs, one behind the other, from theirs.
std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

/// Of that many zero bytes: O(log size).
std::uint32_t crc32_of_zeros(std::uint64_t size);

/// The CRC-32 of a record after `before` became `after` (the same size) with `bytes_behind` unchanged bytes after it,
/// from the record's old CRC: O(log bytes_behind), the record is not read. Only as right as the old CRC was.
std::uint32_t crc32_patched(std::uint32_t old_crc, ByteView before, ByteView after, std::uint64_t bytes_behind);

}  // namespace tare
