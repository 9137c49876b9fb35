// Which state of a transaction a file shows.
#include <algorithm>
#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/transaction/apply.hpp"

namespace tare {
namespace {

/// Sectors reach the disk one by one, so that an interrupted write can leave any mixture.
FileState state_of_bytes(const Bytes& now, const Swap& swap) {
  if (swap.before == now) return FileState::before;
  if (swap.after == now) return FileState::after;
  if (swap.before.size() != swap.after.size()) return FileState::foreign;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] != swap.before[i] && now[i] != swap.after[i]) return FileState::foreign;
  }
  return FileState::between;
}

FileState together(FileState a, FileState b) {
  if (a == FileState::foreign || b == FileState::foreign) return FileState::foreign;
  return a == b ? a : FileState::between;
}

/// What the size says; a tail that is there in full must be the one recorded.
FileState state_of_size(const ReadableFile& file, const FileRecord& record, std::uint64_t size) {
  const std::uint64_t largest = std::max(record.size_before, record.size_after);
  if (size < record.common_size() || size > largest) return FileState::foreign;
  const FileState shorter = record.size_before < record.size_after ? FileState::before : FileState::after;
  if (size == record.common_size()) return shorter;
  if (size < largest || file.read({record.common_size(), record.tail.size()}) != record.tail) return FileState::between;
  return shorter == FileState::before ? FileState::after : FileState::before;
}

FileState state_in_place(const ReadableFile& file, const FileRecord& record) {
  const std::uint64_t size = file.size;
  if (size < record.common_size()) return FileState::foreign;
  if (witness_crc(file, record, record.witness.offset_before) != record.witness.crc) return FileState::foreign;
  std::optional<FileState> state;
  if (record.size_before != record.size_after) state = state_of_size(file, record, size);
  if (record.size_before == record.size_after && size != record.size_before) return FileState::foreign;
  for (const Swap& swap : record.swaps) {
    if (swap.before == swap.after) continue;
    const FileState here = state_of_bytes(file.read({swap.offset, swap.before.size()}), swap);
    state = state ? together(*state, here) : here;
  }
  return state.value_or(FileState::before);
}

bool shows(const ReadableFile& file, const FileRecord& record, std::uint64_t offset, const SharedBytes& bytes,
           std::uint64_t witness_offset) {
  return file.read({offset, bytes.size()}) == bytes && witness_crc(file, record, witness_offset) == record.witness.crc;
}

FileState state_rewritten(const ReadableFile& file, const FileRecord& record) {
  const std::uint64_t size = file.size;
  const Swap& swap = record.swaps[0];
  if (size == record.size_before && shows(file, record, swap.offset, swap.before, record.witness.offset_before)) {
    return FileState::before;
  }
  if (size == record.size_after && shows(file, record, swap.offset, swap.after, record.witness.offset_after)) {
    return FileState::after;
  }
  return FileState::foreign;
}

}  // namespace

std::optional<OpenFile> open_target(const Place& place) {
  const auto named = place.status();
  if (!named || !S_ISREG(named->st_mode)) return std::nullopt;
  const int opened = place.folder.try_open(place.name, O_RDONLY);
  if (opened == -ENOENT || opened == -ELOOP) return std::nullopt;
  OpenFile file = adopt(place, opened);
  if (!S_ISREG(file.status().st_mode)) return std::nullopt;
  return file;
}

FileState file_state(const OpenFile& file, const FileRecord& record) {
  return file_state(readable(file), record);
}

FileState file_state(const ReadableFile& file, const FileRecord& record) {
  return record.write_method == WriteMethod::in_place ? state_in_place(file, record) : state_rewritten(file, record);
}

namespace {

bool has_same_owner_and_mode(const struct stat& a, const struct stat& b) {
  return a.st_uid == b.st_uid && a.st_gid == b.st_gid && (a.st_mode & mode_bits) == (b.st_mode & mode_bits);
}

/// The old file is put aside, durably, before the new one takes its name. So where nothing is aside we have not touched
/// the file, whatever it holds; unless it is the new one, and somebody removed the old.
FileState state_rewritten(const Store& store, const Journal& journal, std::size_t index) {
  const FileRecord& record = journal.files[index];
  const auto place = store.target(record);
  const auto target = place ? open_target(*place) : std::nullopt;
  const Place old = store.old_place(journal, index);
  const FileState state = target ? file_state(*target, record) : FileState::foreign;
  if (!old.status()) return state == FileState::after || !place ? FileState::foreign : FileState::before;
  const auto aside = open_target(old);
  if (!place || !aside || file_state(*aside, record) != FileState::before) return FileState::foreign;
  // Between names, where they cannot be linked: the very file that was to be edited waits, and no other one takes a
  // name that nothing has.
  if (!target)
    return !place->status() && aside->status().st_ino == record.inode ? FileState::between : FileState::foreign;
  // The new one was given what the old one had: where they differ, that is not the old one.
  return has_same_owner_and_mode(target->status(), aside->status()) ? state : FileState::foreign;
}

}  // namespace

FileState file_state(const Store& store, const Journal& journal, std::size_t index) {
  const FileRecord& record = journal.files[index];
  if (record.write_method == WriteMethod::rewritten) return state_rewritten(store, journal, index);
  const auto place = store.target(record);
  const auto target = place ? open_target(*place) : std::nullopt;
  return target ? file_state(*target, record) : FileState::foreign;
}

}  // namespace tare
