// The directory of a zip archive, with the places of everything that an edit may have to mend. The central directory is
// the truth, as it is for torch's reader; local headers are read only where a record is asked for. What two zip readers
// could understand differently is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/base/finding.hpp"
#include "lib/base/source.hpp"
#include "lib/container/zip/names.hpp"

namespace tare {

/// One row of the central directory.
struct ZipEntry {
  std::string_view name;          ///< in the directory's bytes
  std::uint64_t header = 0;       ///< where its local header starts
  std::uint64_t stored_size = 0;  ///< bytes in the file
  std::uint64_t size = 0;         ///< bytes when unpacked
  std::uint64_t limit = 0;        ///< where the next record or the directory starts: its bytes end there at the latest
  std::uint32_t crc = 0;
  std::uint32_t row = 0;  ///< where its row starts in the directory
  std::uint16_t method = 0;

  [[nodiscard]] bool is_stored() const { return method == 0; }
};

/// What a local header says: the place of the data, and what differs from the directory.
struct ZipRecord {
  Span payload;
  bool has_descriptor = false;
  std::uint32_t local_crc = 0;
  std::uint32_t local_stored_size = 0;
};

/// Where a copy of a record's CRC-32 stands.
struct ZipChecksum {
  std::uint64_t offset = 0;
  std::uint32_t value = 0;
  std::string_view place;  ///< "data descriptor", "local header" or "central directory"
};

class ZipArchive {
 public:
  /// Throws `corrupt` where there is no complete directory, `refused` where it is ambiguous (records that overlap,
  /// counts that differ, encryption, methods other than stored and deflate) or larger than lib/base/limits.hpp allows.
  explicit ZipArchive(std::shared_ptr<const Source> source);
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  /// Becomes the archive as it is in `later`, of which only the rows that differ are read; what entries() and find()
  /// gave stays. False where there are other records now, or elsewhere: then this is good for nothing any more. Throws
  /// as the constructor does.
  [[nodiscard]] bool follow(std::shared_ptr<const Source> later);

  [[nodiscard]] const Source& source() const { return *source_; }
  [[nodiscard]] const std::shared_ptr<const Source>& shared_source() const { return source_; }
  [[nodiscard]] const std::vector<ZipEntry>& entries() const { return entries_; }
  /// The first entry of exactly that name, or null.
  [[nodiscard]] const ZipEntry* find(std::string_view name) const;
  /// The first entry whose name an earlier one has too when upper and lower case are one, as torch looks them up; or
  /// null.
  [[nodiscard]] const ZipEntry* duplicate() const { return twin_; }
  /// Bytes behind the end record and such: what a reader should tell.
  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }

  /// Reads the local header. Throws `corrupt` or `refused` where it contradicts the directory about the name or the
  /// method, or the record passes its limit.
  [[nodiscard]] ZipRecord record(const ZipEntry& entry) const { return record(entry, *source_); }
  /// The same, read through a view of the source.
  [[nodiscard]] ZipRecord record(const ZipEntry& entry, const Source& view) const;
  /// All bytes of a record, unpacked; at most `limit`, else `refused`. The CRC is not looked at.
  [[nodiscard]] Bytes read(const ZipEntry& entry, std::uint64_t limit) const { return read(entry, limit, *source_); }
  /// The same, read through a view of the source.
  [[nodiscard]] Bytes read(const ZipEntry& entry, std::uint64_t limit, const Source& view) const;
  /// Every copy of the record's CRC-32. Throws `corrupt` where a promised data descriptor is not there.
  [[nodiscard]] std::vector<ZipChecksum> checksums(const ZipEntry& entry) const;
  /// What a message calls an entry: "model.pt (archive/data.pkl)".
  [[nodiscard]] std::string label(const ZipEntry& entry) const;

  [[nodiscard]] ByteView directory() const { return directory_; }
  [[nodiscard]] std::uint64_t directory_offset() const { return directory_offset_; }
  [[nodiscard]] ByteView comment() const { return comment_; }

 private:
  [[nodiscard]] Bytes inflate(const ZipEntry& entry, ByteView packed) const;
  void read_rows(std::uint64_t count);
  [[nodiscard]] bool follow_row(ZipEntry& entry, std::size_t row_end);
  ZipEntry read_row(std::size_t& at) const;
  void check_row(const ZipEntry& entry, std::uint16_t flags) const;
  void limit_records();

  std::shared_ptr<const Source> source_;
  Bytes directory_;
  std::uint64_t directory_offset_ = 0;
  Bytes comment_;
  std::vector<ZipEntry> entries_;
  ZipNames names_;
  const ZipEntry* twin_ = nullptr;
  std::vector<Finding> findings_;
};

/// What is wrong with a name that a careless reader would unpack: "climbs out of its folder" ...; empty if nothing is.
std::string_view name_problem(std::string_view name);

}  // namespace tare
