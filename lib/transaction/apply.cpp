#include "lib/transaction/apply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/base/file_identity.hpp"

namespace tare {
namespace {

constexpr std::size_t hole_bytes = 4096;  ///< what file systems keep no less of

[[noreturn]] void throw_changed(const std::string& path) {
  throw Error(Status::refused, path + ": changed while it was edited",
              "something else writes this file: try again when it is done");
}

/// The place of the file, whose folder is held by it.
Place target_of(const Store& store, const FileRecord& record) {
  auto place = store.target(record);
  if (!place) throw_changed(store.path(record));
  return std::move(*place);
}

/// Of a file that is about to be written in place, or replaced: its other names would show that, or be left behind.
void require_one_name(const OpenFile& file, nlink_t expected, bool allow_hard_links) {
  const nlink_t names = file.status().st_nlink;
  if (names <= expected || allow_hard_links) return;
  throw Error(Status::refused, fmt::format("{}: has {} names (hard links), which would all change", file.path(), names),
              "allow hard links if all of them are meant");
}

void require_still_before(const struct stat& status, const std::string& path, const FileRecord& record) {
  const bool same = static_cast<std::uint64_t>(status.st_size) == record.size_before && status.st_ino == record.inode &&
                    is_same_time(status.st_mtim, record.mtime_before);
  if (!same) throw_changed(path);
}

/// Only the owner may set times; in another user's file that we may write, the time of the writing has to do.
void set_mtime(const OpenFile& file, timespec moment) {
  const int result = file.files().set_mtime(file.descriptor(), moment);
  if (result != -EPERM && result != -EACCES) checked(result, file.path());
}

void require_after(const OpenFile& file, const FileRecord& record) {
  if (file_state(file, record) == FileState::after) return;
  throw Error(Status::io, file.path() + ": what was written does not read back",
              "something else writes this file, or the disk is failing");
}

// ---- in place -------------------------------------------------------------------------------------------------------

void apply_in_place(const Store& store, const FileRecord& record) {
  const auto [file, opened] = open_for_writing(target_of(store, record));
  require_still_before(opened, file.path(), record);
  if (record.size_after > record.size_before) {
    const ByteView tail = record.tail;
    const auto body = static_cast<std::size_t>(record.tail_body);
    file.write(record.size_before, tail.first(body));
    file.sync_data();
    file.write(record.size_before + body, tail.subspan(body));
  }
  for (const Swap& swap : record.swaps) {
    if (swap.before != swap.after) file.write(swap.offset, swap.after);
  }
  if (record.size_after < record.size_before) file.resize(record.size_after);
  set_mtime(file, record.mtime_after);
  file.sync();
  require_after(file, record);
}

void roll_back_in_place(const Store& store, const FileRecord& record, bool allow_hard_links) {
  const OpenFile file = open_for_writing(target_of(store, record)).file;
  // This very file, whatever had the name when all of them were looked at.
  if (file_state(file, record) == FileState::foreign) throw_changed(file.path());
  require_one_name(file, 1, allow_hard_links);
  for (const Swap& swap : record.swaps) {
    if (swap.before != file.read({swap.offset, swap.before.size()})) file.write(swap.offset, swap.before);
  }
  const std::uint64_t size = file.size();
  if (size > record.size_before) file.resize(record.size_before);
  if (record.size_before > record.size_after) file.write(record.size_after, record.tail);
  const struct stat status = file.status();
  // A crash may have come while a read-only file was writable for us.
  if ((status.st_mode & mode_bits) == (record.mode | S_IWUSR) && (record.mode & S_IWUSR) == 0) {
    checked(store.files().fchmod(file.descriptor(), record.mode), file.path());
  }
  if (!is_same_time(status.st_mtim, record.mtime_before)) set_mtime(file, record.mtime_before);
  // Always: bytes that look old may be in memory only, from a roll-back that was itself cut off.
  file.sync();
}

// ---- rewritten ------------------------------------------------------------------------------------------------------

void copy_data(const OpenFile& from, Span range, const OpenFile& to, std::uint64_t offset, Copied& all) {
  while (range.size > 0) {
    const auto count = checked(from.files().copy_range(from.descriptor(), range.offset, to.descriptor(), offset,
                                                       std::min(range.size, Copied::piece)),
                               to.path());
    if (count == 0) throw_changed(from.path());
    const auto copied = static_cast<std::uint64_t>(count);
    all.add(copied);
    range = {range.offset + copied, range.size - copied};
    offset += copied;
  }
}

/// To behind the end of `to`, where what is not written is a hole, as it was in `from`.
void copy(const OpenFile& from, Span range, const OpenFile& to, std::uint64_t offset, Copied& all) {
  while (range.size > 0) {
    const Span data = from.files().data_in(from.descriptor(), range);
    all.add(data.offset - range.offset);
    copy_data(from, data, to, offset + (data.offset - range.offset), all);
    offset += data.end() - range.offset;
    range = {data.end(), range.end() - data.end()};
  }
}

/// The new bytes of a rewritten file. Where the old ones had holes, pages of zeros become holes, too.
void write_swapped(const OpenFile& from, const Swap& swap, const OpenFile& to) {
  const Span old{swap.offset, swap.before.size()};
  const ByteView bytes = swap.after;
  if (from.files().data_in(from.descriptor(), old).size == old.size) return to.write(swap.offset, bytes);
  for (std::size_t at = 0; at < bytes.size();) {
    const auto page = bytes.subspan(at, std::min(hole_bytes - (swap.offset + at) % hole_bytes, bytes.size() - at));
    const bool is_zero = std::all_of(page.begin(), page.end(), [](std::byte byte) { return byte == std::byte{0}; });
    if (!is_zero) to.write(swap.offset + at, page);
    at += page.size();
  }
}

void take_over_owner_and_mode(const OpenFile& from, const OpenFile& to) {
  const struct stat old = from.status();
  const struct stat fresh = to.status();
  FileLayer& files = from.files();
  if (old.st_uid != fresh.st_uid || old.st_gid != fresh.st_gid) {
    if (files.fchown(to.descriptor(), old.st_uid, old.st_gid) < 0) {
      throw Error(Status::refused,
                  fmt::format("{}: has to be written anew, which would take it from its owner (user {}, group {})",
                              from.path(), old.st_uid, old.st_gid),
                  "let the owner edit it, or edit a copy");
    }
  }
  files.copy_attributes(from.descriptor(), to.descriptor());
  checked(files.fchmod(to.descriptor(), old.st_mode & mode_bits), to.path());
}

/// The new content under a name of its own, durable.
void write_beside(const OpenFile& from, const Place& beside, const FileRecord& record, Copied& all) {
  const Swap& swap = record.swaps[0];
  const OpenFile to = beside.open(O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (from.files().clone(from.descriptor(), to.descriptor()) < 0) {
    copy(from, {0, swap.offset}, to, 0, all);
  } else {
    to.resize(swap.offset);
    all.add(swap.offset);
  }
  write_swapped(from, swap, to);
  const std::uint64_t behind = swap.offset + swap.before.size();
  copy(from, {behind, record.size_before - behind}, to, swap.offset + swap.after.size(), all);
  to.resize(record.size_after);
  take_over_owner_and_mode(from, to);
  set_mtime(to, record.mtime_after);
  to.sync();
  require_still_before(from.status(), from.path(), record);
  require_after(to, record);
}

/// Keeps the old file under a second name, durable before anything else happens to the first; where there are no hard
/// links the only name has to move.
void put_aside(const Place& from, const Place& to) {
  const int linked = from.folder.files().link_at(from.folder.descriptor(), from.name, to.folder.descriptor(), to.name);
  const bool has_no_links = linked == -EPERM || linked == -EOPNOTSUPP || linked == -ENOSYS || linked == -EMLINK;
  if (has_no_links) {
    rename(from, to);
    from.folder.sync();
  } else {
    checked(linked, from.path());
  }
  to.folder.sync();
}

void apply_rewritten(const Store& store, const Journal& journal, std::size_t index, Copied& all) {
  const FileRecord& record = journal.files[index];
  const Place target = target_of(store, record);
  const Place fresh = store.new_place(journal, index);
  const OpenFile from = target.open(O_RDONLY);
  require_still_before(from.status(), target.path(), record);
  write_beside(from, fresh, record, all);
  const auto named = target.status();
  if (!named) throw_changed(target.path());
  require_still_before(*named, target.path(), record);
  put_aside(target, store.old_place(journal, index));
  rename(fresh, target);
  target.folder.sync();
  store.inside().sync();
}

void roll_back_rewritten(const Store& store, const Journal& journal, std::size_t index, bool allow_hard_links) {
  const FileRecord& record = journal.files[index];
  if (file_state(store, journal, index) == FileState::foreign) throw_changed(store.path(record));
  const Place target = target_of(store, record);
  const Place old = store.old_place(journal, index);
  if (const auto aside = open_target(old)) {
    const auto named = target.status();
    const bool is_same_file = named && named->st_ino == aside->status().st_ino;
    require_one_name(*aside, is_same_file ? 2 : 1, allow_hard_links);
    const auto replaced = is_same_file ? std::nullopt : open_target(target);
    if (replaced) require_one_name(*replaced, 1, allow_hard_links);
    rename(old, target);
  }
  // Where both were names of one file still, renaming has done nothing.
  old.folder.remove_if_there(old.name);
  const Place fresh = store.new_place(journal, index);
  fresh.folder.remove_if_there(fresh.name);
  target.folder.sync();
  store.inside().sync();
}

/// Makes a read-only file of ours writable for as long as it takes to open it.
OpenFile open_read_only_file(const Place& place) {
  const OpenFile reading = place.open(O_RDONLY);
  const struct stat status = reading.status();
  FileLayer& files = reading.files();
  if (status.st_uid != files.user() || !S_ISREG(status.st_mode)) throw_file_error(reading.path(), EACCES);
  const mode_t mode = status.st_mode & mode_bits;
  checked(files.fchmod(reading.descriptor(), mode | S_IWUSR), reading.path());
  const int opened = place.folder.try_open(place.name, O_RDWR);
  const int restored = files.fchmod(reading.descriptor(), mode);
  OpenFile file = adopt(place, opened);
  checked(restored, reading.path());
  if (file.status().st_ino != status.st_ino) throw_changed(reading.path());
  return file;
}

}  // namespace

OpenedFile open_for_writing(const Place& place) {
  const int opened = place.folder.try_open(place.name, O_RDWR);
  OpenFile file = opened == -EACCES ? open_read_only_file(place) : adopt(place, opened);
  const struct stat status = file.status();
  if (!S_ISREG(status.st_mode)) throw Error(Status::refused, file.path() + ": not a regular file");
  return {std::move(file), status};
}

void apply_file(const Store& store, const Journal& journal, std::size_t index, Copied& copied) {
  const FileRecord& record = journal.files[index];
  record.write_method == WriteMethod::in_place ? apply_in_place(store, record)
                                               : apply_rewritten(store, journal, index, copied);
}

void roll_back_file(const Store& store, const Journal& journal, std::size_t index, bool allow_hard_links) {
  const FileRecord& record = journal.files[index];
  record.write_method == WriteMethod::in_place ? roll_back_in_place(store, record, allow_hard_links)
                                               : roll_back_rewritten(store, journal, index, allow_hard_links);
}

void remove_parts(const Store& store, const Journal& journal) {
  for (std::size_t index = 0; const FileRecord& record : journal.files) {
    const Place old = store.old_place(journal, index++);
    if (record.write_method == WriteMethod::rewritten) old.folder.remove_if_there(old.name);
  }
}

}  // namespace tare
