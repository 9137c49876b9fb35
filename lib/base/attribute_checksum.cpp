#include "lib/base/attribute_checksum.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/crc32.hpp"

namespace tare {
namespace {

constexpr std::string_view blank = blank_attribute_checksum;
constexpr std::string_view words_before_digits = blank.substr(0, blank.size() - attribute_checksum_digits);
/// What stands before the mark: the attribute's name and type (14 bytes of text) and shape. No text can hold its NULs.
constexpr std::string_view attribute{"checksum\0\0\0\0\0\0\0\0\x13\x11\0\0\x0e\0\0\0\x01\0\0\0\0\0\0\0", 32};

/// The digits for a file of which `crc_of` tells the CRC-32 of each run.
template <class CrcOf>
std::string with_blank_digits(std::uint64_t size, std::uint64_t at, const CrcOf& crc_of) {
  const std::string_view digits = blank.substr(words_before_digits.size());
  const Span behind{at + digits.size(), size - at - digits.size()};
  const std::uint32_t front = crc32_joined(crc_of(Span{0, at}), crc32(as_bytes(digits)), digits.size());
  return fmt::format("{:08x}", crc32_joined(front, crc_of(behind), behind.size));
}

/// REQUIRES: a run that begins in the first piece.
std::uint32_t crc32_of(std::span<const ByteView> pieces, Span run) {
  std::uint32_t crc = crc32({});
  for (const ByteView piece : pieces) {
    const ByteView part = piece.subspan(run.offset, std::min<std::uint64_t>(run.size, piece.size() - run.offset));
    crc = crc32_joined(crc, crc32(part), part.size());
    run = {0, run.size - part.size()};
  }
  return crc;
}

}  // namespace

std::optional<std::size_t> find_attribute_checksum(ByteView bytes) {
  const std::string_view head = as_text(bytes.first(std::min(bytes.size(), attribute_checksum_head_bytes)));
  for (std::size_t at = head.find(attribute); at != std::string_view::npos; at = head.find(attribute, at + 1)) {
    const std::size_t begin = at + attribute.size();
    if (head.substr(begin).starts_with(words_before_digits) && head.size() - begin >= blank.size())
      return begin + words_before_digits.size();
  }
  return std::nullopt;
}

std::string attribute_checksum(std::span<const ByteView> pieces, std::size_t at) {
  std::uint64_t size = 0;
  for (const ByteView piece : pieces) size += piece.size();
  return with_blank_digits(size, at, [&](Span run) { return crc32_of(pieces, run); });
}

std::string attribute_checksum(const SummedSource& source, std::size_t at) {
  return with_blank_digits(source.size(), at, [&](Span run) { return source.crc32_of(run); });
}

std::optional<std::string> attribute_checksum_problem(const SummedSource& source) {
  const Bytes head = source.read({0, std::min<std::uint64_t>(source.size(), attribute_checksum_head_bytes)});
  const auto at = find_attribute_checksum(head);
  if (!at) return "tare's checksum is not in it: another program wrote it, or wrote it anew";
  if (attribute_checksum(source, *at) == as_text(head).substr(*at, attribute_checksum_digits)) return std::nullopt;
  return "the checksum in its root is not that of the file: another program changed it, or it is damaged";
}

}  // namespace tare
