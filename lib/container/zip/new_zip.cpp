#include "lib/container/zip/new_zip.hpp"

#include <string_view>

#include "lib/base/crc32.hpp"
#include "lib/container/zip/layout.hpp"

namespace tare {
namespace {

constexpr std::uint16_t version_needed = 20;
constexpr std::uint16_t midnight = 0;
constexpr std::uint16_t first_of_1980 = 1 << 5 | 1;  // the earliest day that the format knows

void append(Bytes& to, std::string_view text) {
  const ByteView bytes = as_bytes(text);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// What a local header and a directory's row have in common, from the flags to the length of the extra field.
void append_common(Bytes& to, const NewMember& member, std::size_t extra_size) {
  append_le<std::uint16_t>(to, zip::flag_utf8);
  append_le<std::uint16_t>(to, zip::stored);
  append_le<std::uint16_t>(to, midnight);
  append_le<std::uint16_t>(to, first_of_1980);
  append_le<std::uint32_t>(to, crc32(member.contents));
  append_le<std::uint32_t>(to, static_cast<std::uint32_t>(member.contents.size()));
  append_le<std::uint32_t>(to, static_cast<std::uint32_t>(member.contents.size()));
  append_le<std::uint16_t>(to, static_cast<std::uint16_t>(member.name.size()));
  append_le<std::uint16_t>(to, static_cast<std::uint16_t>(extra_size));
}

void append_padding(Bytes& to, std::size_t size) {
  constexpr std::size_t head = 4;
  append_le<std::uint16_t>(to, zip::extra_padding);
  append_le<std::uint16_t>(to, static_cast<std::uint16_t>(size - head));
  to.insert(to.end(), size - head, std::byte{'Z'});
}

/// How long the extra field must be so that the payload is aligned: nothing, or room for its own head at least.
std::size_t padding_for(std::size_t payload_at, std::size_t alignment) {
  constexpr std::size_t head = 4;
  if (alignment <= 1) return 0;
  const std::size_t wanted = payload_at + head;
  return head + (alignment - wanted % alignment) % alignment;
}

void append_row(Bytes& to, const NewMember& member, std::uint32_t offset) {
  append_le<std::uint32_t>(to, zip::row_signature);
  append_le<std::uint16_t>(to, version_needed);
  append_le<std::uint16_t>(to, version_needed);
  append_common(to, member, 0);
  append_le<std::uint16_t>(to, 0);  // comment
  append_le<std::uint16_t>(to, 0);  // disk
  append_le<std::uint16_t>(to, 0);  // internal attributes
  append_le<std::uint32_t>(to, 0);  // external attributes
  append_le<std::uint32_t>(to, offset);
  append(to, member.name);
}

}  // namespace

Bytes new_zip(const std::vector<NewMember>& members, std::size_t alignment) {
  Bytes file, directory;
  for (const NewMember& member : members) {
    append_row(directory, member, static_cast<std::uint32_t>(file.size()));
    const std::size_t padding = padding_for(file.size() + zip::local_size + member.name.size(), alignment);
    append_le<std::uint32_t>(file, zip::local_signature);
    append_le<std::uint16_t>(file, version_needed);
    append_common(file, member, padding);
    append(file, member.name);
    if (padding > 0) append_padding(file, padding);
    file.insert(file.end(), member.contents.begin(), member.contents.end());
  }
  const auto directory_at = static_cast<std::uint32_t>(file.size());
  const auto count = static_cast<std::uint16_t>(members.size());
  file.insert(file.end(), directory.begin(), directory.end());
  append_le<std::uint32_t>(file, zip::end_signature);
  append_le<std::uint32_t>(file, 0);  // disks
  append_le<std::uint16_t>(file, count);
  append_le<std::uint16_t>(file, count);
  append_le<std::uint32_t>(file, static_cast<std::uint32_t>(directory.size()));
  append_le<std::uint32_t>(file, directory_at);
  append_le<std::uint16_t>(file, 0);  // comment
  return file;
}

}  // namespace tare
