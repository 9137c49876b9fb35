// The right to edit in one folder: a locked `.tare/pending`, which is the journal as well. Whoever creates it has the
// claim; one that nobody holds locked is left over from a crash, or came from elsewhere.
#pragma once

#include "lib/transaction/store.hpp"

namespace tare {

/// Each one lost to another process that finished in between.
inline constexpr int claim_attempts = 16;

class Claim {
 public:
  /// Creates `.tare` and the pending file, locked. Nothing where one is there already (see `adopt`). Throws `busy`
  /// where another came first in the same moment, `io` where the folder may not be written.
  static std::optional<Claim> create(const Folder& home, const JournalKey& key, mode_t mode);
  /// Takes over a pending file that its maker left. Nothing where there is none. Throws `busy` where its maker still
  /// holds it, or where the file system has no locks to tell by (unless `assume_abandoned`); `refused` where it is no
  /// regular file.
  static std::optional<Claim> adopt(const Store& store, bool assume_abandoned);

  [[nodiscard]] const Store& store() const { return store_; }
  /// Nothing where the journal was never complete.
  [[nodiscard]] std::optional<Journal> read() const;
  /// The journal holds bytes of files, so that nobody may read it who may not read them. Of a file's bits those that
  /// say the same of the journal, whose group may be another one.
  [[nodiscard]] mode_t readers_of(const OpenFile& file, const struct stat& status) const;
  /// Leaves the journal no other bits than these, and its owner's.
  void restrict_to(mode_t readers) const;
  /// Writes the journal and makes it durable, with all names that lead to it from the store's folder.
  void write(const Journal& journal) const;

  /// The commit point: the journal becomes the record of that name. Durable only after `settle`.
  void commit_as(StoredRecord record) const;
  /// The other commit point, which is that of a roll-back too: the journal is gone. Durable only after `settle`.
  void drop() const;
  void settle() const { store_.inside().sync(); }
  /// Gives up before anything was applied, or after it was rolled back: leaves nothing behind.
  void withdraw() const;

 private:
  Claim(Store store, OpenFile file) : store_(std::move(store)), file_(std::move(file)), group_(file_.status().st_gid) {}

  Store store_;
  OpenFile file_;
  gid_t group_;  ///< of the journal
};

}  // namespace tare
