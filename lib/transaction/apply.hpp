// Carrying out one file's part of a transaction, taking it back, and telling which of both a file shows.
//
// Each file is reached from the store's folder without following links, and its folder is held open until it is done.
// Files do not depend on each other: between the journal's sync and the commit they may be worked on in any order, or
// at the same time.
#pragma once

#include "lib/transaction/copied.hpp"
#include "lib/transaction/store.hpp"

namespace tare {

inline constexpr mode_t mode_bits = 07777;  ///< of st_mode, what chmod sets

enum class FileState {
  before,
  after,
  between,  ///< some bytes old, some new: an interrupted edit, or one in progress
  foreign,  ///< neither: somebody else wrote here since, or the file is gone
};

/// Where the file stands. `file` is open for reading; times and mode do not count.
FileState file_state(const OpenFile& file, const FileRecord& record);
FileState file_state(const ReadableFile& file, const FileRecord& record);

/// Opens a file for reading; nothing where there is none, or the name is a link's or anything else's but a file's: then
/// it is not the file that was edited.
std::optional<OpenFile> open_target(const Place& place);

/// Opens an existing regular file for reading and writing. One that is read-only but ours is made writable for that
/// moment: the mode is back when this returns.
OpenedFile open_for_writing(const Place& place);

/// Brings file number `index` of the journal to its new state, durable and read back. REQUIRES: the journal is durable.
/// Throws `refused` where the file is not in its old state any more, `io` where anything fails: then roll back.
/// `copied` is that of all files.
void apply_file(const Store& store, const Journal& journal, std::size_t index, Copied& copied);

/// Where file number `index` stands, seen by its path, old copies put aside included.
FileState file_state(const Store& store, const Journal& journal, std::size_t index);

/// Brings file number `index` back to its old bytes, size, mode and mtime, from wherever apply was stopped; durable.
/// May be repeated. Throws `refused` where it stands foreign, or has other names that are not to change with it.
void roll_back_file(const Store& store, const Journal& journal, std::size_t index, bool allow_hard_links);

/// Removes the old copies that rewritten files left aside. REQUIRES: the commit is durable.
void remove_parts(const Store& store, const Journal& journal);

}  // namespace tare
