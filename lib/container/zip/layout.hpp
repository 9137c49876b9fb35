// Numbers of the zip format that its reader and its writer share (APPNOTE 6.3.9, §4.3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/bytes.hpp"

namespace tare::zip {

inline constexpr std::uint32_t local_signature = 0x04034b50;
inline constexpr std::uint32_t descriptor_signature = 0x08074b50;
inline constexpr std::uint32_t row_signature = 0x02014b50;
inline constexpr std::uint32_t end64_signature = 0x06064b50;
inline constexpr std::uint32_t locator_signature = 0x07064b50;
inline constexpr std::uint32_t end_signature = 0x06054b50;

/// Whether a file that begins so would be taken for an archive that has a member.
inline bool begins_with_member(ByteView head) {
  return as_text(head).starts_with("PK\x03\x04");
}

inline constexpr std::size_t local_size = 30;
inline constexpr std::size_t row_size = 46;
inline constexpr std::size_t end64_size = 56;
inline constexpr std::size_t locator_size = 20;
inline constexpr std::size_t end_size = 22;

inline constexpr std::uint16_t flag_encrypted = 1 << 0;
inline constexpr std::uint16_t flag_descriptor = 1 << 3;
inline constexpr std::uint16_t flag_patch = 1 << 5;
inline constexpr std::uint16_t flag_strong_encryption = 1 << 6;
inline constexpr std::uint16_t flag_utf8 = 1 << 11;
inline constexpr std::uint16_t flag_masked = 1 << 13;

inline constexpr std::uint16_t stored = 0;
inline constexpr std::uint16_t deflated = 8;

inline constexpr std::uint16_t extra_zip64 = 1;
/// "FB": torch's own padding, so that a payload starts where it can be mapped.
inline constexpr std::uint16_t extra_padding = 0x4246;

inline constexpr std::uint16_t full16 = 0xffff;
inline constexpr std::uint32_t full32 = 0xffffffff;

// Where fields stand in a local header and in a row of the directory.
namespace local {
inline constexpr std::size_t flags = 6, method = 8, crc = 14, stored_size = 18, size = 22, name_size = 26,
                             extra_size = 28;
}
namespace row {
inline constexpr std::size_t flags = 8, method = 10, crc = 16, stored_size = 20, size = 24, name_size = 28,
                             extra_size = 30, comment_size = 32, disk = 34, offset = 42;
}

}  // namespace tare::zip
