#include "lib/base/crc32.hpp"

#include <libdeflate.h>
#include <zlib.h>

namespace tare {

std::uint32_t crc32(ByteView bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_size) {
  return static_cast<std::uint32_t>(crc32_combine64(first, second, static_cast<off64_t>(second_size)));
}

std::uint32_t crc32_of_zeros(std::uint64_t size) {
  constexpr std::byte zero{0};
  std::uint32_t crc = 0;
  std::uint32_t run = crc32({&zero, 1});  // of `run_size` zeros
  for (std::uint64_t run_size = 1; size > 0; size >>= 1, run_size *= 2) {
    if ((size & 1) != 0) crc = crc32_joined(crc, run, run_size);
    run = crc32_joined(run, run, run_size);
  }
  return crc;
}

std::uint32_t crc32_patched(std::uint32_t old_crc, ByteView before, ByteView after, std::uint64_t bytes_behind) {
  // CRC is affine: crc(A) ^ crc(B), for records of one size, depends on A ^ B alone. So the change of the small run,
  // shifted by the bytes behind it, is the change of the whole. Combining with the CRC of nothing shifts: it maps
  // x to x * 2^(8n) when the second CRC is 0.
  const std::uint32_t change = crc32(before) ^ crc32(after);
  return old_crc ^ crc32_joined(change, 0, bytes_behind);
}

}  // namespace tare
