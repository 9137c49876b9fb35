// The append: a reader finds the last end record, so the old archive stays whole until the new end records are there,
// and rolling back is cutting the file at its old end. Offsets of `data/N` do not change, on which torch's loader
// relies when it predicts them.
#include "lib/container/zip/change.hpp"
#include "lib/container/file_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/zip/layout.hpp"

namespace tare {
namespace {

constexpr std::uint64_t payload_alignment = 64;  ///< of payloads, as torch.save has it
constexpr std::uint64_t verified_bytes = 64
                                         << 10;  ///< records up to this size are read to see whether their CRC is right

void extend(Bytes& to, ByteView bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_text(Bytes& to, std::string_view text) {
  extend(to, as_bytes(text));
}

/// The extra fields of a row without its zip64 one.
Bytes without_zip64(ByteView extra) {
  Bytes kept;
  while (extra.size() >= 4) {
    const std::size_t size = std::min<std::size_t>(4u + load_le<std::uint16_t>(extra.data() + 2), extra.size());
    if (load_le<std::uint16_t>(extra.data()) != zip::extra_zip64) {
      kept.insert(kept.end(), extra.begin(), extra.begin() + static_cast<std::ptrdiff_t>(size));
    }
    extra = extra.subspan(size);
  }
  return kept;
}

template <typename T>
T saturated(std::uint64_t value) {
  return static_cast<T>(std::min<std::uint64_t>(value, std::numeric_limits<T>::max()));
}

/// zip64 end record, locator and end record, as torch always writes all three.
Bytes end_records(Span directory, std::uint64_t count, ByteView comment) {
  Bytes end;
  append_le(end, zip::end64_signature);
  append_le(end, std::uint64_t{zip::end64_size - 12});
  append_le(end, std::uint16_t{45});  // made by, needed: 4.5, the first with zip64
  append_le(end, std::uint16_t{45});
  append_le(end, std::uint32_t{0});
  append_le(end, std::uint32_t{0});
  append_le(end, count);
  append_le(end, count);
  append_le(end, directory.size);
  append_le(end, directory.offset);

  append_le(end, zip::locator_signature);
  append_le(end, std::uint32_t{0});
  append_le(end, directory.end());
  append_le(end, std::uint32_t{1});

  append_le(end, zip::end_signature);
  append_le(end, std::uint16_t{0});
  append_le(end, std::uint16_t{0});
  append_le(end, saturated<std::uint16_t>(count));
  append_le(end, saturated<std::uint16_t>(count));
  append_le(end, saturated<std::uint32_t>(directory.size));
  append_le(end, saturated<std::uint32_t>(directory.offset));
  append_le(end, static_cast<std::uint16_t>(comment.size()));
  end.insert(end.end(), comment.begin(), comment.end());
  return end;
}

/// A stored record behind the old end. Sizes and CRC stand in its local header: nothing has to follow the data.
struct StoredRecord {
  std::string_view name;
  ByteView content;
  std::uint32_t crc = 0;
  std::uint16_t version_needed = 0;
  std::uint16_t flags = zip::flag_utf8;
  std::uint32_t moment = 0;  ///< time and date
};

/// The record's bytes if its header stands at `header`: the payload starts at a multiple of torch's alignment.
Bytes encoded(const StoredRecord& record, std::uint64_t header) {
  const std::uint64_t unpadded = header + zip::local_size + record.name.size() + 4;
  const auto padding =
      static_cast<std::uint16_t>((payload_alignment - unpadded % payload_alignment) % payload_alignment);
  const auto size = static_cast<std::uint32_t>(record.content.size());
  Bytes bytes;
  append_le(bytes, zip::local_signature);
  append_le(bytes, record.version_needed);
  append_le(bytes, record.flags);
  append_le(bytes, zip::stored);
  append_le(bytes, record.moment);
  append_le(bytes, record.crc);
  append_le(bytes, size);
  append_le(bytes, size);
  append_le(bytes, static_cast<std::uint16_t>(record.name.size()));
  append_le(bytes, static_cast<std::uint16_t>(4 + padding));
  append_text(bytes, record.name);
  append_le(bytes, zip::extra_padding);
  append_le(bytes, padding);
  append_text(bytes, std::string(padding, 'Z'));
  bytes.insert(bytes.end(), record.content.begin(), record.content.end());
  return bytes;
}

/// The zip64 extra field of a row whose header lies beyond 4 GiB; else nothing.
Bytes zip64_offset(std::uint64_t header) {
  Bytes extra;
  if (header < zip::full32) return extra;
  append_le(extra, zip::extra_zip64);
  append_le(extra, std::uint16_t{8});
  append_le(extra, header);
  return extra;
}

Bytes directory_row(const StoredRecord& record, std::uint64_t header) {
  const Bytes extra = zip64_offset(header);
  const auto size = static_cast<std::uint32_t>(record.content.size());
  Bytes row;
  append_le(row, zip::row_signature);
  append_le(row, std::uint16_t{0});  // made by
  append_le(row, record.version_needed);
  append_le(row, record.flags);
  append_le(row, zip::stored);
  append_le(row, record.moment);
  append_le(row, record.crc);
  append_le(row, size);
  append_le(row, size);
  append_le(row, static_cast<std::uint16_t>(record.name.size()));
  append_le(row, static_cast<std::uint16_t>(extra.size()));
  row.resize(zip::row::offset);  // no comment, disk 0, no attributes
  append_le(row, saturated<std::uint32_t>(header));
  append_text(row, record.name);
  row.insert(row.end(), extra.begin(), extra.end());
  return row;
}

}  // namespace

ZipChange::Touched& ZipChange::touch(const ZipEntry& entry) {
  const auto [known, is_new] = touched_by_entry_.try_emplace(&entry, touched_.size());
  if (is_new) touched_.push_back({&entry, archive_.record(entry), entry.crc});
  return touched_[known->second];
}

const ZipEntry* ZipChange::entry_at(std::uint64_t offset) {
  if (by_offset_.empty()) {
    for (const ZipEntry& entry : archive_.entries()) by_offset_.push_back(&entry);
    std::ranges::sort(by_offset_, {}, &ZipEntry::header);
  }
  const auto behind = std::ranges::upper_bound(by_offset_, offset, {}, &ZipEntry::header);
  if (behind == by_offset_.begin()) return nullptr;
  const ZipEntry* entry = *std::prev(behind);
  return offset < entry->limit ? entry : nullptr;
}

void ZipChange::verify(const Touched& touched) const {
  const ZipEntry& entry = *touched.entry;
  if (touched.crc != entry.crc || entry.crc == 0 || entry.size > verified_bytes) return;
  if (crc32(archive_.source().read(touched.record.payload)) == entry.crc) return;
  throw Error(Status::corrupt,
              fmt::format("{}: its CRC-32 does not match: an edit would hide the damage", archive_.label(entry)),
              "load and save the checkpoint with its framework first");
}

void ZipChange::patch(Span place, const SharedBytes& after, std::string_view meaning) {
  const ZipEntry* entry = entry_at(place.offset);
  if (entry == nullptr) throw Error(Status::internal, "a patch outside every record of a zip archive");
  Touched& touched = touch(*entry);
  const Span payload = touched.record.payload;
  if (place.offset < payload.offset || place.end() > payload.end()) {
    throw Error(Status::internal, "a patch outside the data of its record");
  }
  verify(touched);
  if (!patched_.empty() && patched_.back().end() == place.offset) {
    patched_.back().size += place.size;
  } else {
    patched_.push_back(place);
  }
  const SharedBytes before = archive_.source().read(place);
  touched.crc = crc32_patched(touched.crc, before, after, payload.end() - place.end());
  for (Patch& patch : differing_parts(before, after, place.offset, meaning)) {
    patch.after = alike_.held(std::move(patch.after));
    change_.patches.push_back(std::move(patch));
  }
}

void ZipChange::rewrite(const ZipEntry& entry, ByteView before, ByteView after, std::string_view meaning) {
  Touched& touched = touch(entry);
  touched.crc = crc32(after);
  auto runs = differing_runs(before, after, touched.record.payload.offset, meaning);
  std::move(runs.begin(), runs.end(), std::back_inserter(change_.patches));
}

void ZipChange::replace(const ZipEntry& entry, ByteView content, std::string_view meaning) {
  replaced_by_entry_.emplace(&entry, replaced_.size());
  replaced_.push_back({&entry, Bytes(content.begin(), content.end())});
  if (!change_.append) change_.append = Append{archive_.source().size(), {}, {}, std::string(meaning)};
}

void ZipChange::add(std::string name, ByteView content) {
  added_.emplace_back(std::move(name), Bytes(content.begin(), content.end()));
}

void ZipChange::mend_checksums(const Touched& touched) {
  const std::uint64_t directory = archive_.directory_offset();
  for (const ZipChecksum& copy : archive_.checksums(*touched.entry)) {
    const bool is_off = copy.value == 0;
    const bool moves = change_.append && copy.offset >= directory;
    if (is_off || moves || copy.value == touched.crc) continue;
    Bytes before, after;
    append_le(before, copy.value);
    append_le(after, touched.crc);
    change_.patches.push_back({copy.offset, std::move(before), std::move(after),
                               fmt::format("CRC-32 of {}, {}", touched.entry->name, copy.place)});
  }
}

std::uint32_t ZipChange::mended(const ZipEntry& entry) const {
  const auto found = touched_by_entry_.find(&entry);
  return found == touched_by_entry_.end() || entry.crc == 0 ? entry.crc : touched_[found->second].crc;
}

void ZipChange::append_patched_records() {
  std::uint64_t size = 0;
  for (const Touched& touched : touched_) size += touched.record.payload.size;
  if (size > limits::max_tensor_read_bytes) {
    throw Error(
        Status::refused,
        fmt::format("{}: what this edit changes stands in records of {} bytes, all of which would have to be sent",
                    archive_.source().name(), size),
        "download it, edit that, and upload it");
  }
  std::ranges::stable_sort(change_.patches, {}, &Patch::offset);
  for (const Touched& touched : touched_) {
    const Span payload = touched.record.payload;
    const auto first = std::ranges::lower_bound(change_.patches, payload.offset, {}, &Patch::offset);
    const auto last = std::ranges::lower_bound(change_.patches, payload.end(), {}, &Patch::offset);
    if (first == last) continue;
    Bytes content = archive_.source().read(payload);
    std::for_each(first, last, [&](const Patch& patch) {
      std::ranges::copy(patch.after, content.begin() + static_cast<std::ptrdiff_t>(patch.offset - payload.offset));
    });
    replace(*touched.entry, content, first->meaning);
  }
  touched_.clear();
  touched_by_entry_.clear();
  change_.patches.clear();
}

void ZipChange::require_apart() {
  std::ranges::sort(patched_, {}, &Span::offset);
  const auto both = std::ranges::adjacent_find(
      patched_, [](const Span& one, const Span& next) { return next.offset < one.end() && next.size != 0; });
  if (both == patched_.end()) return;
  throw Error(Status::internal, fmt::format("{}: two changes of the bytes at offset {}", archive_.source().name(),
                                            std::next(both)->offset));
}

FileChange ZipChange::finish() && {
  require_apart();
  if (moves_patched_records()) append_patched_records();
  for (const Touched& touched : touched_) mend_checksums(touched);
  if (!change_.append) return std::move(change_);
  Append& append = *change_.append;
  for (Replaced& replaced : replaced_) {
    replaced.header = append.old_size + append.body.size();
    extend(append.body, record_of(replaced));
  }
  Bytes directory = new_directory();
  for (const auto& [name, content] : added_) {
    const StoredRecord record{name, content, crc32(content)};
    const std::uint64_t header = append.old_size + append.body.size();
    extend(append.body, encoded(record, header));
    extend(directory, directory_row(record, header));
  }
  const Span place{append.old_size + append.body.size(), directory.size()};
  extend(append.body, directory);
  append.commit = end_records(place, archive_.entries().size() + added_.size(), archive_.comment());
  return std::move(change_);
}

Bytes ZipChange::record_of(const Replaced& replaced) const {
  const std::byte* row = archive_.directory().data() + replaced.entry->row;
  StoredRecord record{replaced.entry->name, replaced.content};
  record.crc = replaced.entry->crc == 0 ? 0 : crc32(replaced.content);
  record.version_needed = load_le<std::uint16_t>(row + 6);
  record.flags = static_cast<std::uint16_t>(load_le<std::uint16_t>(row + zip::row::flags) & ~zip::flag_descriptor);
  record.moment = load_le<std::uint32_t>(row + 12);
  return encoded(record, replaced.header);
}

const ZipChange::Replaced* ZipChange::replacement_of(const ZipEntry& entry) const {
  const auto found = replaced_by_entry_.find(&entry);
  return found == replaced_by_entry_.end() ? nullptr : &replaced_[found->second];
}

Bytes ZipChange::row_of(const Replaced& replaced, ByteView row) {
  const std::size_t extra_at = zip::row_size + replaced.entry->name.size();
  Bytes extra = without_zip64(row.subspan(extra_at, load_le<std::uint16_t>(row.data() + zip::row::extra_size)));
  extend(extra, zip64_offset(replaced.header));
  Bytes fresh;
  extend(fresh, row.first(extra_at));
  extend(fresh, extra);
  extend(fresh, row.last(load_le<std::uint16_t>(row.data() + zip::row::comment_size)));
  std::byte* fields = fresh.data();
  const auto flags = load_le<std::uint16_t>(fields + zip::row::flags);
  const auto size = static_cast<std::uint32_t>(replaced.content.size());
  const std::uint32_t crc = replaced.entry->crc == 0 ? 0 : crc32(replaced.content);
  store(fields + zip::row::flags, static_cast<std::uint16_t>(flags & ~zip::flag_descriptor), std::endian::little);
  store(fields + zip::row::method, zip::stored, std::endian::little);
  store(fields + zip::row::crc, crc, std::endian::little);
  store(fields + zip::row::stored_size, size, std::endian::little);
  store(fields + zip::row::size, size, std::endian::little);
  store(fields + zip::row::extra_size, static_cast<std::uint16_t>(extra.size()), std::endian::little);
  store(fields + zip::row::offset, saturated<std::uint32_t>(replaced.header), std::endian::little);
  return fresh;
}

Bytes ZipChange::new_directory() const {
  const ByteView old = archive_.directory();
  const auto& entries = archive_.entries();
  Bytes directory;
  directory.reserve(old.size() + 12 * replaced_.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ZipEntry& entry = entries[i];
    const std::size_t end = i + 1 < entries.size() ? entries[i + 1].row : old.size();
    const ByteView row = old.subspan(entry.row, end - entry.row);
    if (const Replaced* replaced = replacement_of(entry)) {
      extend(directory, row_of(*replaced, row));
      continue;
    }
    const std::size_t at = directory.size();
    extend(directory, row);
    store(directory.data() + at + zip::row::crc, mended(entry), std::endian::little);
  }
  return directory;
}

}  // namespace tare
