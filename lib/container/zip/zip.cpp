#include "lib/container/zip/zip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/zip/end.hpp"
#include "lib/container/zip/layout.hpp"

namespace tare {
namespace {

constexpr const char* damage_hint = "the file is damaged, or made to be read in two ways";

[[noreturn]] void fail(Status status, const Source& source, std::string_view name, std::string_view problem) {
  throw Error(status, fmt::format("{}: zip entry '{}': {}", source.name(), name, problem), damage_hint);
}

/// The zip64 field of a row has only the members that are saturated in the row, in this order.
void widen(ZipEntry& entry, ByteView extra, const Source& source) {
  std::uint64_t* const members[] = {&entry.size, &entry.stored_size, &entry.header};
  const auto is_full = [](const std::uint64_t* member) { return *member == zip::full32; };
  if (std::none_of(std::begin(members), std::end(members), is_full)) return;
  while (extra.size() >= 4) {
    const auto id = load_le<std::uint16_t>(extra.data());
    const std::size_t size = load_le<std::uint16_t>(extra.data() + 2);
    extra = extra.subspan(4);
    if (size > extra.size()) break;
    ByteView field = extra.first(size);
    extra = extra.subspan(size);
    if (id != zip::extra_zip64) continue;
    for (std::uint64_t* member : members) {
      if (!is_full(member)) continue;
      if (field.size() < 8) fail(Status::corrupt, source, entry.name, "its zip64 field is too short");
      *member = load_le<std::uint64_t>(field.data());
      field = field.subspan(8);
    }
    return;
  }
  fail(Status::corrupt, source, entry.name, "its sizes are in a zip64 field that is not there");
}

}  // namespace

ZipArchive::ZipArchive(std::shared_ptr<const Source> source) : source_(std::move(source)) {
  ZipEnd end = read_zip_end(*source_);
  directory_ = std::move(end.directory_bytes);
  directory_offset_ = end.directory.offset;
  comment_ = std::move(end.comment);
  findings_ = std::move(end.findings);
  read_rows(end.count);
  limit_records();
}

bool ZipArchive::follow(std::shared_ptr<const Source> later) {
  constexpr std::size_t piece = std::size_t{256} << 10;
  ZipEnd end = find_zip_end(*later);
  if (end.directory != Span{directory_offset_, directory_.size()} || end.count != entries_.size()) return false;
  source_ = std::move(later);
  comment_ = std::move(end.comment);
  findings_ = std::move(end.findings);
  Bytes rows;
  for (std::size_t at = 0; at < directory_.size();) {
    rows.resize(std::min(piece, directory_.size() - at));
    source_->read(directory_offset_ + at, rows);
    const std::size_t same = common_start(rows, ByteView(directory_).subspan(at));
    at += same;
    if (same == rows.size()) continue;
    const auto next = std::ranges::upper_bound(entries_, at, {}, &ZipEntry::row);
    const std::size_t row_end = next == entries_.end() ? directory_.size() : next->row;
    if (!follow_row(*std::prev(next), row_end)) return false;
    at = row_end;
  }
  return true;
}

/// The row's name, sizes and places were compared with all others: they must be those of before.
bool ZipArchive::follow_row(ZipEntry& entry, std::size_t row_end) {
  const ZipEntry before = entry;
  const std::string name(before.name);
  source_->read(directory_offset_ + before.row, std::span(directory_).subspan(before.row, row_end - before.row));
  std::size_t at = before.row;
  entry = read_row(at);
  entry.limit = before.limit;
  return at == row_end && entry.name == name && entry.header == before.header && entry.size == before.size &&
         entry.stored_size == before.stored_size && entry.method == before.method;
}

void ZipArchive::read_rows(std::uint64_t count) {
  entries_.reserve(count);
  names_.reserve(count);
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    entries_.push_back(read_row(at));
    if (names_.add(entries_) && twin_ == nullptr) twin_ = &entries_.back();
    if (names_.collides()) {
      throw Error(Status::refused, fmt::format("{}: zip: entry names that are made to collide", source_->name()));
    }
  }
  if (at == directory_.size()) return;
  throw Error(Status::corrupt,
              fmt::format("{}: zip: {} bytes of the directory are left behind its {} entries", source_->name(),
                          directory_.size() - at, count),
              damage_hint);
}

ZipEntry ZipArchive::read_row(std::size_t& at) const {
  const std::byte* row = directory_.data() + at;
  const std::size_t left = directory_.size() - at;
  const auto u16 = [&](std::size_t offset) { return load_le<std::uint16_t>(row + offset); };
  const auto u32 = [&](std::size_t offset) { return load_le<std::uint32_t>(row + offset); };
  if (left < zip::row_size || u32(0) != zip::row_signature) {
    throw Error(Status::corrupt,
                fmt::format("{}: zip: entry {} of the directory (offset {}) is damaged", source_->name(),
                            entries_.size(), directory_offset_ + at),
                damage_hint);
  }
  const std::size_t name_bytes = u16(zip::row::name_size);
  const std::size_t extra_size = u16(zip::row::extra_size);
  const std::size_t total = zip::row_size + name_bytes + extra_size + u16(zip::row::comment_size);
  ZipEntry entry;
  entry.name = as_text(ByteView(directory_).subspan(at + zip::row_size, std::min(name_bytes, left - zip::row_size)));
  if (total > left) fail(Status::corrupt, *source_, entry.name, "passes the end of the directory");
  if (name_bytes > limits::max_zip_name_bytes) {
    fail(Status::refused, *source_, entry.name.substr(0, 64), fmt::format("a name of {} bytes", name_bytes));
  }
  entry.row = static_cast<std::uint32_t>(at);
  entry.crc = u32(zip::row::crc);
  entry.method = u16(zip::row::method);
  entry.stored_size = u32(zip::row::stored_size);
  entry.size = u32(zip::row::size);
  entry.header = u32(zip::row::offset);
  widen(entry, ByteView(directory_).subspan(at + zip::row_size + name_bytes, extra_size), *source_);
  check_row(entry, u16(zip::row::flags));
  at += total;
  return entry;
}

void ZipArchive::check_row(const ZipEntry& entry, std::uint16_t flags) const {
  constexpr int masks = zip::flag_encrypted | zip::flag_strong_encryption | zip::flag_masked;
  if ((flags & masks) != 0) fail(Status::refused, *source_, entry.name, "is encrypted");
  if (entry.method != zip::stored && entry.method != zip::deflated) {
    fail(Status::refused, *source_, entry.name,
         fmt::format("compression method {}; only stored (0) and deflate (8) are read", entry.method));
  }
  if (entry.is_stored() && entry.stored_size != entry.size) {
    fail(Status::corrupt, *source_, entry.name,
         fmt::format("is stored as it is, but has {} bytes for {}", entry.stored_size, entry.size));
  }
}

/// Records end where the next begins: an order by offset tells whether two share bytes. Local headers are not read, so
/// their extra fields count as nothing here; record() looks at the rest.
void ZipArchive::limit_records() {
  std::vector<std::uint32_t> order(entries_.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto stands_before = [&](std::uint32_t a, std::uint32_t b) { return entries_[a].header < entries_[b].header; };
  if (!std::is_sorted(order.begin(), order.end(), stands_before)) std::sort(order.begin(), order.end(), stands_before);
  std::uint64_t limit = directory_offset_;
  std::reverse(order.begin(), order.end());
  for (const std::uint32_t at : order) {
    ZipEntry& entry = entries_[at];
    const std::uint64_t least = zip::local_size + entry.name.size();
    if (entry.header > limit || limit - entry.header < least || limit - entry.header - least < entry.stored_size) {
      const bool is_last = limit == directory_offset_;
      fail(is_last ? Status::corrupt : Status::refused, *source_, entry.name,
           fmt::format("{} bytes at offset {} overlap what starts at {}", entry.stored_size, entry.header, limit));
    }
    entry.limit = limit;
    limit = entry.header;
  }
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto index = names_.find(entries_, name);
  if (!index || entries_[*index].name != name) return nullptr;
  return &entries_[*index];
}

std::string ZipArchive::label(const ZipEntry& entry) const {
  return fmt::format("{} ({})", source_->name(), entry.name);
}

ZipRecord ZipArchive::record(const ZipEntry& entry, const Source& view) const {
  const Bytes header = view.read({entry.header, zip::local_size + entry.name.size()});
  const auto u16 = [&](std::size_t offset) { return load_le<std::uint16_t>(header.data() + offset); };
  const auto u32 = [&](std::size_t offset) { return load_le<std::uint32_t>(header.data() + offset); };
  if (u32(0) != zip::local_signature) {
    fail(Status::corrupt, *source_, entry.name, fmt::format("no local header at offset {}", entry.header));
  }
  if (u16(zip::local::name_size) != entry.name.size() ||
      as_text(ByteView(header).subspan(zip::local_size)) != entry.name) {
    fail(Status::refused, *source_, entry.name, "its local header gives another name than the directory");
  }
  if (u16(zip::local::method) != entry.method) {
    fail(Status::refused, *source_, entry.name, "its local header gives another compression than the directory");
  }
  ZipRecord record;
  record.payload = {entry.header + header.size() + u16(zip::local::extra_size), entry.stored_size};
  if (record.payload.offset > entry.limit || entry.limit - record.payload.offset < entry.stored_size) {
    fail(Status::corrupt, *source_, entry.name, fmt::format("its data pass offset {}, its end", entry.limit));
  }
  record.has_descriptor = (u16(zip::local::flags) & zip::flag_descriptor) != 0;
  record.local_crc = u32(zip::local::crc);
  record.local_stored_size = u32(zip::local::stored_size);
  return record;
}

Bytes ZipArchive::read(const ZipEntry& entry, std::uint64_t limit, const Source& view) const {
  if (!entry.is_stored()) limit = std::min(limit, limits::max_inflated_bytes);
  if (const std::uint64_t size = std::max(entry.size, entry.stored_size); size > limit) {
    fail(Status::refused, *source_, entry.name, fmt::format("has {} bytes; the limit is {}", size, limit));
  }
  if (!entry.is_stored()) source_->budget()->take_unpacked(entry.size);
  Bytes bytes = view.read(record(entry, view).payload);
  return entry.is_stored() ? bytes : inflate(entry, bytes);
}

Bytes ZipArchive::inflate(const ZipEntry& entry, ByteView packed) const {
  Bytes bytes(entry.size + 1);  // One more than promised: a stream that goes on shows itself.
  z_stream stream{};
  constexpr int raw_deflate = -15;
  if (::inflateInit2(&stream, raw_deflate) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));  // zlib does not write there.
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int result = ::inflate(&stream, Z_FINISH);
  const std::uint64_t written = stream.total_out;
  ::inflateEnd(&stream);
  if (result != Z_STREAM_END || written != entry.size) {
    fail(Status::corrupt, *source_, entry.name, fmt::format("does not unpack to its {} bytes", entry.size));
  }
  bytes.resize(entry.size);
  return bytes;
}

std::vector<ZipChecksum> ZipArchive::checksums(const ZipEntry& entry) const {
  std::vector<ZipChecksum> places;
  const ZipRecord at = record(entry);
  if (!at.has_descriptor || at.local_crc != 0) {
    places.push_back({entry.header + zip::local::crc, at.local_crc, "local header"});
  }
  if (at.has_descriptor) {
    const Bytes descriptor = source_->read({at.payload.end(), 8});
    const bool is_signed = load_le<std::uint32_t>(descriptor.data()) == zip::descriptor_signature;
    const std::size_t skip = is_signed ? 4 : 0;
    const auto crc = load_le<std::uint32_t>(descriptor.data() + skip);
    if ((!is_signed && crc != entry.crc) || at.payload.end() + skip + 4 > entry.limit) {
      fail(Status::corrupt, *source_, entry.name, fmt::format("no data descriptor at offset {}", at.payload.end()));
    }
    places.push_back({at.payload.end() + skip, crc, "data descriptor"});
  }
  places.push_back({directory_offset_ + entry.row + zip::row::crc, entry.crc, "central directory"});
  return places;
}

std::string_view name_problem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.find('\0') != name.npos) return "holds a NUL";
  if (name.find('\\') != name.npos) return "holds a backslash";
  if (name.front() == '/' || (name.size() > 1 && name[1] == ':')) return "is an absolute path";
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    if (name.substr(at, end - at) == "..") return "climbs out of its folder";
    at = end + 1;
  }
  return {};
}

}  // namespace tare
