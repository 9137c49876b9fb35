#include "lib/base/attribute_checksum.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/crc32.hpp"

namespace tare {
namespace {

constexpr std::string_view blank = blank_attribute_checksum;
constexpr std::string_view mark = blank.substr(0, blank.size() - attribute_checksum_digits);
/// What stands before the mark: the attribute's name and type (14 bytes of text) and shape. No text can hold its NULs.
constexpr std::string_view attribute{"checksum\0\0\0\0\0\0\0\0\x13\x11\0\0\x0e\0\0\0\x01\0\0\0\0\0\0\0", 32};

}  // namespace

std::optional<std::size_t> find_attribute_checksum(ByteView bytes) {
  const std::string_view head = as_text(bytes.first(std::min(bytes.size(), attribute_checksum_head_bytes)));
  for (std::size_t at = head.find(attribute); at != std::string_view::npos; at = head.find(attribute, at + 1)) {
    const std::size_t begin = at + attribute.size();
    if (head.substr(begin).starts_with(mark) && head.size() - begin >= blank.size()) return begin + mark.size();
  }
  return std::nullopt;
}

std::string attribute_checksum(ByteView bytes, std::size_t at) {
  Bytes copy(bytes.begin(), bytes.end());
  std::ranges::copy(as_bytes(blank.substr(mark.size())), copy.begin() + static_cast<std::ptrdiff_t>(at));
  return fmt::format("{:08x}", crc32(copy));
}

std::optional<std::string> attribute_checksum_problem(const Source& source) {
  const Bytes bytes = source.read({0, source.size()});
  const auto at = find_attribute_checksum(bytes);
  if (!at) return "tare's checksum is not in it: another program wrote it, or wrote it anew";
  if (attribute_checksum(bytes, *at) == as_text(bytes).substr(*at, attribute_checksum_digits)) return std::nullopt;
  return "the checksum in its root is not that of the file: another program changed it, or it is damaged";
}

}  // namespace tare
