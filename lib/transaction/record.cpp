#include "lib/transaction/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/base/letters.hpp"

namespace tare {
namespace {

constexpr std::uint64_t witness_bytes = 64 * 1024;
constexpr std::uint64_t largest_file = std::uint64_t{1} << 62;

[[noreturn]] void throw_bad_change(const ReadableFile& file, std::uint64_t offset, const char* problem) {
  throw Error(Status::invalid_argument, fmt::format("{}: the change at offset {} {}", file.name, offset, problem));
}

Swap verified(const ReadableFile& file, std::uint64_t file_size, const Swap& swap) {
  if (swap.offset > file_size || swap.before.size() > file_size - swap.offset) {
    throw_bad_change(file, swap.offset, "passes the end of the file");
  }
  if (swap.before != file.read({swap.offset, swap.before.size()})) {
    throw Error(Status::refused,
                fmt::format("{}: the {} bytes at offset {} are not those that the plan saw", file.name,
                            swap.before.size(), swap.offset),
                "the file changed in between: try again");
  }
  return swap;
}

void add_patches(FileRecord& record, const ReadableFile& file, const std::vector<Patch>& patches) {
  record.swaps.reserve(patches.size());
  for (const Patch& patch : patches) {
    if (patch.before.size() != patch.after.size()) throw_bad_change(file, patch.offset, "would move what follows it");
    if (patch.before.empty()) continue;
    record.swaps.push_back(verified(file, record.size_before, {patch.offset, patch.before, patch.after}));
  }
  std::sort(record.swaps.begin(), record.swaps.end(), [](const Swap& a, const Swap& b) { return a.offset < b.offset; });
  for (std::size_t i = 1; i < record.swaps.size(); ++i) {
    const Swap& previous = record.swaps[i - 1];
    if (previous.offset + previous.before.size() > record.swaps[i].offset) {
      throw_bad_change(file, record.swaps[i].offset, "overlaps another one");
    }
  }
}

void add_append(FileRecord& record, const ReadableFile& file, const Append& append) {
  if (append.old_size != record.size_before)
    throw_bad_change(file, append.old_size, "does not start at the file's end");
  record.tail = append.body;
  record.tail.insert(record.tail.end(), append.commit.begin(), append.commit.end());
  record.tail_body = append.body.size();
  record.size_after = record.size_before + record.tail.size();
}

/// In place, and the file's end moves.
void add_end(FileRecord& record, const ReadableFile& file, const FileChange& change) {
  const Splice& end = *change.splice;
  if (change.append || end.offset + end.before.size() != record.size_before) {
    throw_bad_change(file, end.offset, "is a splice beside other changes");
  }
  verified(file, record.size_before, {end.offset, end.before, end.after});
  const std::size_t common = std::min(end.before.size(), end.after.size());
  std::vector<Patch> patches = change.patches;
  const auto head = [&](const Bytes& bytes) { return SharedBytes::copy_of(ByteView(bytes).first(common)); };
  patches.push_back({end.offset, head(end.before), head(end.after), {}});
  add_patches(record, file, patches);
  const Bytes& longer = end.before.size() > end.after.size() ? end.before : end.after;
  record.tail.assign(longer.begin() + static_cast<std::ptrdiff_t>(common), longer.end());
  record.tail_body = record.tail.size();
  record.size_after = end.offset + end.after.size();
}

void add_splice(FileRecord& record, const ReadableFile& file, const Splice& splice) {
  record.write_method = WriteMethod::rewritten;
  record.swaps = {verified(file, record.size_before, {splice.offset, splice.before, splice.after})};
  record.size_after = record.size_before - splice.before.size() + splice.after.size();
}

Witness witness_place(const FileRecord& record) {
  if (record.write_method == WriteMethod::in_place) {
    const std::uint64_t size = std::min(record.common_size(), witness_bytes);
    return {record.common_size() - size, record.common_size() - size, size, 0};
  }
  const std::uint64_t behind = record.size_before - record.swaps[0].offset - record.swaps[0].before.size();
  const std::uint64_t size = std::min(behind, witness_bytes);
  return {record.size_before - size, record.size_after - size, size, 0};
}

/// In any case of letters: some file systems make no difference.
bool is_store_name(const std::string& part) {
  constexpr std::string_view name = ".tare";
  return std::equal(part.begin(), part.end(), name.begin(), name.end(),
                    [](char a, char b) { return small_letter(a) == b; });
}

bool is_inside_name(const std::string& name) {
  if (name.empty() || name.find('\0') != std::string::npos) return false;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == ".." || is_store_name(part)) return false;
    at = end + 1;
  }
  return true;
}

bool has_sane_swaps(const FileRecord& record) {
  std::uint64_t free_from = 0;
  for (const Swap& swap : record.swaps) {
    if (swap.offset < free_from || swap.offset > record.common_size()) return false;
    const std::uint64_t room = record.write_method == WriteMethod::in_place ? record.common_size() : record.size_before;
    if (swap.before.size() > room - swap.offset) return false;
    if (record.write_method == WriteMethod::in_place && swap.before.size() != swap.after.size()) return false;
    free_from = swap.offset + swap.before.size();
  }
  return true;
}

bool has_sane_sizes(const FileRecord& record) {
  if (record.size_before > largest_file || record.size_after > largest_file) return false;
  if (record.write_method == WriteMethod::in_place) {
    const std::uint64_t difference = std::max(record.size_before, record.size_after) - record.common_size();
    return record.tail.size() == difference && record.tail_body <= record.tail.size();
  }
  if (record.swaps.size() != 1 || !record.tail.empty()) return false;
  return record.size_before - record.swaps[0].before.size() + record.swaps[0].after.size() == record.size_after;
}

bool has_sane_times(const FileRecord& record) {
  // Nanoseconds out of range would mean "now" or "leave it" to the system.
  const auto sane = [](timespec moment) { return moment.tv_nsec >= 0 && moment.tv_nsec < 1'000'000'000; };
  return sane(record.mtime_before) && sane(record.mtime_after);
}

bool has_sane_witness(const FileRecord& record) {
  const Witness& witness = record.witness;
  if (witness.size > witness_bytes) return false;
  return witness.offset_before <= largest_file && witness.offset_before + witness.size <= record.size_before &&
         witness.offset_after <= largest_file && witness.offset_after + witness.size <= record.size_after &&
         (record.write_method == WriteMethod::rewritten ||
          witness.offset_before + witness.size <= record.common_size());
}

}  // namespace

FileRecord inverse(const FileRecord& record) {
  FileRecord back = record;
  std::swap(back.size_before, back.size_after);
  std::swap(back.mtime_before, back.mtime_after);
  std::swap(back.witness.offset_before, back.witness.offset_after);
  for (Swap& swap : back.swaps) std::swap(swap.before, swap.after);
  return back;
}

const ObjectVersions& versions_of(const FileRecord& record) {
  static const ObjectVersions none;
  return record.versions == nullptr ? none : *record.versions;
}

void set_versions(FileRecord& record, ObjectVersions versions) {
  record.versions = std::make_shared<const ObjectVersions>(std::move(versions));
}

ReadableFile readable(const OpenFile& file) {
  return {file.path(), file.size(), [&file](Span range) { return file.read(range); }};
}

FileRecord record_of(const ReadableFile& file, const FileChange& change, std::string name) {
  FileRecord record;
  record.name = std::move(name);
  record.size_before = record.size_after = file.size;
  if (change.splice && (!change.patches.empty() || change.append)) {
    add_end(record, file, change);
  } else if (change.splice) {
    add_splice(record, file, *change.splice);
  } else {
    add_patches(record, file, change.patches);
    if (change.append) add_append(record, file, *change.append);
  }
  record.witness = witness_place(record);
  record.witness.crc = witness_crc(file, record, record.witness.offset_before);
  return record;
}

FileRecord record_of(const OpenFile& file, const struct stat& status, const FileChange& change, std::string name,
                     timespec mtime_after) {
  const ReadableFile whole{file.path(), static_cast<std::uint64_t>(status.st_size),
                           [&file](Span range) { return file.read(range); }};
  FileRecord record = record_of(whole, change, std::move(name));
  record.inode = status.st_ino;
  record.mtime_before = status.st_mtim;
  record.mtime_after = mtime_after;
  record.mode = status.st_mode & 07777;
  return record;
}

bool changes_nothing(const FileRecord& record) {
  return record.size_before == record.size_after &&
         std::all_of(record.swaps.begin(), record.swaps.end(), [](const Swap& s) { return s.before == s.after; });
}

std::uint32_t witness_crc(const ReadableFile& file, const FileRecord& record, std::uint64_t offset) {
  const Span run{offset, record.witness.size};
  const Bytes bytes = file.read(run);
  if (record.write_method == WriteMethod::rewritten) return crc32(bytes);
  Bytes kept;
  kept.reserve(bytes.size());
  std::uint64_t from = run.offset;
  const auto keep_until = [&](std::uint64_t end) {
    if (from >= end) return;
    const ByteView piece = ByteView(bytes).subspan(from - run.offset, end - from);
    kept.insert(kept.end(), piece.begin(), piece.end());
    from = end;
  };
  for (const Swap& swap : record.swaps) {
    keep_until(std::min(swap.offset, run.end()));
    from = std::max(from, swap.offset + swap.before.size());
  }
  keep_until(run.end());
  return crc32(kept);
}

std::uint32_t witness_crc(const OpenFile& file, const FileRecord& record, std::uint64_t offset) {
  return witness_crc(readable(file), record, offset);
}

void require_sane(const FileRecord& record, const std::string& journal) {
  if (!is_inside_name(record.name)) {
    throw Error(Status::corrupt,
                fmt::format("{}: names the file '{}', which may lie outside its folder", journal, record.name),
                "this journal was not written by tare: `tare history --prune` forgets it");
  }
  if (!has_sane_sizes(record) || !has_sane_swaps(record) || !has_sane_times(record) || !has_sane_witness(record)) {
    throw Error(Status::corrupt, fmt::format("{}: the record of {} contradicts itself", journal, record.name));
  }
}

}  // namespace tare
