#include "lib/base/crc32.hpp"

#include <libdeflate.h>
#include <zlib.h>

namespace tare {

std::uint32_t crc32(ByteView bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

std::uint32_t crc32_patched(std::uint32_t old_crc, ByteView before, ByteView after, std::uint64_t bytes_behind) {
  // CRC is affine: crc(A) ^ crc(B), for records of one size, depends on A ^ B alone. So the change of the small run,
  // shifted by the bytes behind it, is the change of the whole. Combining with the CRC of nothing shifts: it maps
  // x to x * 2^(8n) when the second CRC is 0.
  const std::uint32_t change = crc32(before) ^ crc32(after);
  return old_crc ^ static_cast<std::uint32_t>(crc32_combine64(change, 0, static_cast<off64_t>(bytes_behind)));
}

}  // namespace tare
