// What a transaction does to one file, in a form that can be carried out, rolled back, turned round and recognised
// later.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/shared_bytes.hpp"
#include "lib/container/file_change.hpp"
#include "lib/transaction/file_layer.hpp"

namespace tare {

/// Bytes at one place, before and after.
struct Swap {
  std::uint64_t offset = 0;
  SharedBytes before;
  SharedBytes after;
};

/// A run of bytes that the transaction leaves alone, near the end of the file, where most formats keep their directory.
/// A file that was replaced since by one of the same size is recognised by it, for the price of one short read.
struct Witness {
  std::uint64_t offset_before = 0;
  std::uint64_t offset_after = 0;
  std::uint64_t size = 0;
  std::uint32_t crc = 0;  ///< CRC-32 of the run without the bytes that swaps change
};

enum class WriteMethod : std::uint32_t {
  in_place = 0,   ///< same inode: swaps of equal sizes, and perhaps bytes behind the end that come or go
  rewritten = 1,  ///< exactly one swap, of any sizes: a new file takes the name
};

/// What a store calls an object before and after: its ETags, and where its bucket keeps versions, those.
struct ObjectVersions {
  std::string tag_before, tag_after;
  std::string kept_before, kept_after;
  std::string upload;  ///< while it is made: by which others can keep it from becoming whole

  bool operator==(const ObjectVersions&) const = default;
};

struct FileRecord {
  std::string name;  ///< relative to the folder that holds `.tare`
  WriteMethod write_method = WriteMethod::in_place;
  std::uint64_t inode = 0;  ///< when planned; a moved copy has another one
  std::uint64_t size_before = 0;
  std::uint64_t size_after = 0;
  timespec mtime_before{};
  timespec mtime_after{};
  mode_t mode = 0;
  std::vector<Swap> swaps;      ///< by offset, apart from each other
  Bytes tail;                   ///< in place: the bytes between the smaller and the larger size
  std::uint64_t tail_body = 0;  ///< how many bytes of a growing tail are on disk before the others are written
  Witness witness;
  std::shared_ptr<const ObjectVersions> versions = {};  ///< of an object in a store; null of a file: it has none

  [[nodiscard]] std::uint64_t common_size() const { return size_before < size_after ? size_before : size_after; }
};

/// A file that a record is made of, or held against, wherever it lies.
struct ReadableFile {
  std::string name;  ///< what messages call it
  std::uint64_t size = 0;
  std::function<Bytes(Span range)> read;  ///< throws where the range passes the end
};

/// Borrows `file`.
ReadableFile readable(const OpenFile& file);

/// Empty ones of a file.
const ObjectVersions& versions_of(const FileRecord& record);
void set_versions(FileRecord& record, ObjectVersions versions);

/// The way back.
FileRecord inverse(const FileRecord& record);

/// The record of `change` to `file`. Throws `refused` where the bytes to be replaced are not what the plan saw,
/// `invalid_argument` where the change itself makes no sense (overlaps, passes the end, mixes a splice with others).
FileRecord record_of(const OpenFile& file, const struct stat& status, const FileChange& change, std::string name,
                     timespec mtime_after);

/// The same of a file without inode, times and mode, which stay zero.
FileRecord record_of(const ReadableFile& file, const FileChange& change, std::string name);

/// True where the change would leave every byte as it is.
bool changes_nothing(const FileRecord& record);

/// The CRC that a witness at `offset` would have now. Throws `io` where the file is too short.
std::uint32_t witness_crc(const ReadableFile& file, const FileRecord& record, std::uint64_t offset);
std::uint32_t witness_crc(const OpenFile& file, const FileRecord& record, std::uint64_t offset);

/// Throws `corrupt`, naming `journal`, unless the record holds together and its name stays inside its folder: a journal
/// may come with a checkpoint from anywhere.
void require_sane(const FileRecord& record, const std::string& journal);

}  // namespace tare
