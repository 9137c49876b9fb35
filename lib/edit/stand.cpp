// Which state of a transaction a file shows.
#include <algorithm>
#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/edit/apply.hpp"

namespace tare {
namespace {

/// Sectors reach the disk one by one, so that an interrupted write can leave any mixture.
Stand stand_of_bytes(const Bytes& now, const Swap& swap) {
  if (now == swap.before) return Stand::before;
  if (now == swap.after) return Stand::after;
  if (swap.before.size() != swap.after.size()) return Stand::foreign;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] != swap.before[i] && now[i] != swap.after[i]) return Stand::foreign;
  }
  return Stand::between;
}

Stand together(Stand a, Stand b) {
  if (a == Stand::foreign || b == Stand::foreign) return Stand::foreign;
  return a == b ? a : Stand::between;
}

/// What the size says; a tail that is there in full must be the one recorded.
Stand stand_of_size(const OpenFile& file, const FileRecord& record, std::uint64_t size) {
  const std::uint64_t largest = std::max(record.size_before, record.size_after);
  if (size < record.common_size() || size > largest) return Stand::foreign;
  const Stand shorter = record.size_before < record.size_after ? Stand::before : Stand::after;
  if (size == record.common_size()) return shorter;
  if (size < largest || file.read({record.common_size(), record.tail.size()}) != record.tail) return Stand::between;
  return shorter == Stand::before ? Stand::after : Stand::before;
}

Stand stand_in_place(const OpenFile& file, const FileRecord& record) {
  const std::uint64_t size = file.size();
  if (size < record.common_size()) return Stand::foreign;
  if (witness_crc(file, record, record.witness.offset_before) != record.witness.crc) return Stand::foreign;
  std::optional<Stand> stand;
  if (record.size_before != record.size_after) stand = stand_of_size(file, record, size);
  if (record.size_before == record.size_after && size != record.size_before) return Stand::foreign;
  for (const Swap& swap : record.swaps) {
    if (swap.before == swap.after) continue;
    const Stand here = stand_of_bytes(file.read({swap.offset, swap.before.size()}), swap);
    stand = stand ? together(*stand, here) : here;
  }
  return stand.value_or(Stand::before);
}

bool shows(const OpenFile& file, const FileRecord& record, std::uint64_t offset, const Bytes& bytes,
           std::uint64_t witness_offset) {
  return file.read({offset, bytes.size()}) == bytes && witness_crc(file, record, witness_offset) == record.witness.crc;
}

Stand stand_rewritten(const OpenFile& file, const FileRecord& record) {
  const std::uint64_t size = file.size();
  const Swap& swap = record.swaps[0];
  if (size == record.size_before && shows(file, record, swap.offset, swap.before, record.witness.offset_before)) {
    return Stand::before;
  }
  if (size == record.size_after && shows(file, record, swap.offset, swap.after, record.witness.offset_after)) {
    return Stand::after;
  }
  return Stand::foreign;
}

}  // namespace

std::optional<OpenFile> open_target(const Store& store, const FileRecord& record) {
  const std::string path = store.target(record);
  std::string resolved;
  const int found = store.files().resolve(path, resolved);
  if (found == -ENOENT || found == -ENOTDIR || found == -ELOOP) return std::nullopt;
  checked(found, path);
  if (resolved != path) return std::nullopt;
  OpenFile file(store.files(), path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!S_ISREG(file.status().st_mode)) return std::nullopt;
  return file;
}

Stand stand_of(const OpenFile& file, const FileRecord& record) {
  return record.way == Way::in_place ? stand_in_place(file, record) : stand_rewritten(file, record);
}

Stand stand_of(const Store& store, const Journal& journal, std::size_t index) {
  const FileRecord& record = journal.files[index];
  const bool put_aside =
      record.way == Way::rewritten && status_of(store.files(), store.old_path(journal, index)).has_value();
  const auto target = open_target(store, record);
  if (!target) return put_aside && !status_of(store.files(), store.target(record)) ? Stand::between : Stand::foreign;
  const Stand stand = stand_of(*target, record);
  // The new file counts as ours only while the old one is still there to go back to.
  if (record.way == Way::in_place || stand == Stand::foreign || stand == Stand::before) return stand;
  return put_aside ? Stand::after : Stand::foreign;
}

}  // namespace tare
