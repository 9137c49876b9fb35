#include "tests/unit/container/archive_writer.hpp"

#include <zlib.h>

#include <algorithm>
#include <initializer_list>

#include "lib/base/crc32.hpp"
#include "lib/container/zip/layout.hpp"

namespace tare::test {
namespace {

constexpr std::uint64_t full = zip::full32;

void add_text(Bytes& to, std::string_view text) {
  for (const char c : text) to.push_back(static_cast<std::byte>(c));
}

Bytes deflated(ByteView content) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  Bytes packed(deflateBound(&stream, static_cast<uLong>(content.size())));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// The zip64 field with those of the values that do not fit in 32 bits.
Bytes wide_field(std::initializer_list<std::uint64_t> values) {
  Bytes members;
  for (const std::uint64_t value : values) {
    if (value >= full) append_le(members, value);
  }
  Bytes field;
  if (members.empty()) return field;
  append_le(field, zip::extra_zip64);
  append_le(field, static_cast<std::uint16_t>(members.size()));
  field.insert(field.end(), members.begin(), members.end());
  return field;
}

std::uint16_t flags_of(const ArchiveWriter::Options& options) {
  return static_cast<std::uint16_t>(zip::flag_utf8 | (options.has_descriptor ? zip::flag_descriptor : 0));
}

std::uint16_t method_of(const ArchiveWriter::Options& options) {
  return options.is_deflated ? zip::deflated : zip::stored;
}

std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min(value, full));
}

}  // namespace

void ArchiveWriter::add_local_header(const Row& row) {
  constexpr std::uint64_t alignment = 64;
  const Bytes wide = wide_field({row.header});
  const std::uint64_t unpadded = row.header + zip::local_size + row.name.size() + wide.size() + 4;
  const auto padding = static_cast<std::uint16_t>((alignment - unpadded % alignment) % alignment);
  const bool is_later = row.options.has_descriptor;
  Bytes header;
  append_le(header, zip::local_signature);
  append_le(header, std::uint16_t{0});
  append_le(header, flags_of(row.options));
  append_le(header, method_of(row.options));
  append_le(header, std::uint32_t{0});
  append_le(header, is_later ? 0 : row.crc);
  append_le(header, is_later ? 0 : narrow(row.stored_size));
  append_le(header, is_later ? 0 : narrow(row.size));
  append_le(header, static_cast<std::uint16_t>(row.name.size()));
  append_le(header, static_cast<std::uint16_t>(wide.size() + 4 + padding));
  add_text(header, row.name);
  header.insert(header.end(), wide.begin(), wide.end());
  append_le(header, zip::extra_padding);
  append_le(header, padding);
  header.insert(header.end(), padding, std::byte{'Z'});
  image_->append(header);
}

void ArchiveWriter::add_descriptor(const Row& row) {
  Bytes behind;
  if (row.options.has_descriptor) {
    append_le(behind, zip::descriptor_signature);
    append_le(behind, row.crc);
    if (row.header >= full || row.size >= full) {
      append_le(behind, row.stored_size);
      append_le(behind, row.size);
    } else {
      append_le(behind, narrow(row.stored_size));
      append_le(behind, narrow(row.size));
    }
  }
  image_->append(behind);

  const Bytes wide = wide_field({row.size, row.stored_size, row.header});
  append_le(directory_, zip::row_signature);
  append_le(directory_, std::uint32_t{0});  // made by, needed
  append_le(directory_, flags_of(row.options));
  append_le(directory_, method_of(row.options));
  append_le(directory_, std::uint32_t{0});  // time and date
  append_le(directory_, row.crc);
  append_le(directory_, narrow(row.stored_size));
  append_le(directory_, narrow(row.size));
  append_le(directory_, static_cast<std::uint16_t>(row.name.size()));
  append_le(directory_, static_cast<std::uint16_t>(wide.size()));
  append_le(directory_, std::uint16_t{0});  // comment
  append_le(directory_, std::uint16_t{0});  // disk
  append_le(directory_, std::uint16_t{0});
  append_le(directory_, std::uint32_t{0});  // attributes
  append_le(directory_, narrow(row.header));
  add_text(directory_, row.name);
  directory_.insert(directory_.end(), wide.begin(), wide.end());
  ++count_;
}

void ArchiveWriter::add(std::string_view name, ByteView content, Options options) {
  const Bytes packed = options.is_deflated ? deflated(content) : Bytes(content.begin(), content.end());
  const std::uint32_t crc = options.has_crc ? crc32(content) : 0;
  const Row row{name, image_->size(), packed.size(), content.size(), crc, options};
  add_local_header(row);
  image_->append(packed);
  add_descriptor(row);
}

void ArchiveWriter::add_hole(std::string_view name, std::uint64_t size) {
  const Row row{name, image_->size(), size, size, 0, Options()};
  add_local_header(row);
  image_->append_hole(size);
  add_descriptor(row);
}

void ArchiveWriter::finish(std::string_view comment) {
  const std::uint64_t start = image_->size();
  image_->append(directory_);
  Bytes end;
  append_le(end, zip::end64_signature);
  append_le(end, std::uint64_t{44});
  append_le(end, std::uint32_t{0});
  append_le(end, std::uint64_t{0});
  append_le(end, count_);
  append_le(end, count_);
  append_le(end, std::uint64_t{directory_.size()});
  append_le(end, start);
  append_le(end, zip::locator_signature);
  append_le(end, std::uint32_t{0});
  append_le(end, start + directory_.size());
  append_le(end, std::uint32_t{1});
  append_le(end, zip::end_signature);
  append_le(end, std::uint32_t{0});
  append_le(end, static_cast<std::uint16_t>(count_));
  append_le(end, static_cast<std::uint16_t>(count_));
  append_le(end, narrow(directory_.size()));
  append_le(end, narrow(start));
  append_le(end, static_cast<std::uint16_t>(comment.size()));
  add_text(end, comment);
  image_->append(end);
}

Bytes torch_archive(ByteView pickle) {
  ArchiveWriter archive;
  archive.add("archive/data.pkl", pickle);
  archive.add("archive/byteorder", as_bytes("little"));
  archive.add("archive/version", as_bytes("3\n"));
  archive.finish();
  return archive.bytes();
}

}  // namespace tare::test
