// What a changed record asks of its archive: bytes in place with every copy of the CRC-32, or, where the size changes,
// a new copy of the record and of the directory behind the old end. No other record moves.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/base/versioned_source.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/zip/zip.hpp"

namespace tare {

class ZipChange {
 public:
  explicit ZipChange(const ZipArchive& archive) : archive_(archive) {}

  /// Other bytes inside a stored record, wherever `place` lies in the file. The CRC follows from the old one without
  /// reading the record, unless that is small: then a CRC that was wrong before throws `corrupt`.
  void patch(Span place, const SharedBytes& after, std::string_view meaning);
  /// Another content of the same size. REQUIRES: a stored record whose bytes are `before`.
  void rewrite(const ZipEntry& entry, ByteView before, ByteView after, std::string_view meaning);
  /// Another content of any size, at most once a record. It is appended, and so is a directory that points to it.
  void replace(const ZipEntry& entry, ByteView content, std::string_view meaning);
  /// One more record, last in the directory. REQUIRES: a record is replaced as well.
  void add(std::string name, ByteView content);

  /// Do records move that are only patched? In a file that can only grow a patched record is appended anew.
  [[nodiscard]] bool moves_patched_records() const { return only_grows(archive_.source()); }
  /// The whole. A CRC that was not computed (0) stays so. Throws `refused` where a file can only grow, and by more than
  /// is read of a record.
  FileChange finish() &&;

 private:
  struct Touched {
    const ZipEntry* entry;
    ZipRecord record;
    std::uint32_t crc;  ///< after the change
  };
  Touched& touch(const ZipEntry& entry);
  void verify(const Touched& touched) const;
  void mend_checksums(const Touched& touched);
  void append_patched_records();
  /// Throws `internal`: of overlapping patches each says what the other changes, and no CRC would be right.
  void require_apart();
  [[nodiscard]] std::uint32_t mended(const ZipEntry& entry) const;
  struct Replaced {
    const ZipEntry* entry;
    Bytes content;
    std::uint64_t header = 0;  ///< where its new copy stands
  };
  [[nodiscard]] Bytes record_of(const Replaced& replaced) const;
  [[nodiscard]] const Replaced* replacement_of(const ZipEntry& entry) const;
  [[nodiscard]] static Bytes row_of(const Replaced& replaced, ByteView old_row);
  [[nodiscard]] Bytes new_directory() const;

  /// The record whose bytes hold that one. Null: none.
  [[nodiscard]] const ZipEntry* entry_at(std::uint64_t offset);

  const ZipArchive& archive_;
  FileChange change_;
  AlikeBytes alike_;
  std::vector<Span> patched_;  ///< places of patches, those that follow each other as one
  std::vector<Touched> touched_;
  std::unordered_map<const ZipEntry*, std::size_t> touched_by_entry_;  ///< indices into touched_
  std::vector<const ZipEntry*> by_offset_;                             ///< once one is looked for
  std::vector<Replaced> replaced_;
  std::unordered_map<const ZipEntry*, std::size_t> replaced_by_entry_;  ///< indices into replaced_
  std::vector<std::pair<std::string, Bytes>> added_;                    ///< names and contents
};

}  // namespace tare
