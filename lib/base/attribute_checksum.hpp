// The CRC-32 of a whole HDF5 file, in an attribute `checksum` of its root: tare's own states have one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/summed_source.hpp"

namespace tare {

/// What the attribute holds before the checksum is known: a mark, and as many digits.
inline constexpr std::string_view blank_attribute_checksum = "crc32:00000000";
inline constexpr std::size_t attribute_checksum_digits = 8;
/// How much of a file is looked at: our root's attributes are in there.
inline constexpr std::size_t attribute_checksum_head_bytes = 65536;

/// Where the digits are; nothing where the file has no such attribute. `bytes` are the file's, or its first ones.
std::optional<std::size_t> find_attribute_checksum(ByteView bytes);

/// The digits that a file is to have at `at`, which is in its first piece. Of a source it reads what was not read
/// before.
std::string attribute_checksum(std::span<const ByteView> pieces, std::size_t at);
std::string attribute_checksum(const SummedSource& source, std::size_t at);

/// Why what a file says of itself cannot be relied on: it has no such checksum, or one that is not that of its bytes.
/// Nothing where it can. Reads what was not read before.
std::optional<std::string> attribute_checksum_problem(const SummedSource& source);

}  // namespace tare
