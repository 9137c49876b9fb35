// Undo: the last edit of a checkpoint, taken back as one transaction.
#pragma once

#include <string>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/transaction/copied.hpp"
#include "lib/transaction/history.hpp"

namespace tare {

struct UndoOptions {
  std::string id;  ///< of the edit to take back; empty: the last one
  bool allow_hard_links = false;
  RecoverOptions recovery = {};
  OnCopied on_copied = {};
};

enum class UndoKind {
  undone,       ///< the last edit was taken back
  rolled_back,  ///< an edit (or undo) was interrupted; that was rolled back, and nothing else
};

struct UndoResult {
  UndoKind kind = UndoKind::undone;
  std::uint64_t number = 0;
  std::string id;
  Origin origin;
  std::string when;  ///< the edit was made
  std::string folder;
  std::vector<std::string> files;  ///< absolute
  std::vector<FieldEdit> fields;   ///< as they were edited, or by an interrupted undo turned back: `after` is gone now
  std::vector<Finding> findings;   ///< `not-durable`, `stale-checksum`, `checksum-not-read`, `rolled-back`
  JournalKind interrupted = JournalKind::edit;  ///< of what was rolled back; after an undo its edit stands
};

/// What a journal in that folder took back.
UndoResult undone(const std::string& folder, const Journal& journal);
/// What was interrupted and is rolled back.
UndoResult rolled_back(Pending done);
/// The note of one that was rolled back before another edit was undone, which was asked for by its id.
Finding rolled_back_first(const Pending& done);

/// Takes back the last edit that touches what is in the scope, in all files of that edit: their bytes, sizes, modes and
/// mtimes. May be repeated, back through earlier edits. An interrupted transaction is rolled back instead; where an
/// id is given, only that one, and before another edit what is in its way (`rolled-back`). Edits whose records are not
/// sealed with this user's key do not count, unless they are trusted.
///
/// Throws, with all files as they were: `refused` where there is nothing to undo or a file is no longer what that edit
/// made of it, `busy` where another tare is at work, `io` as for commit.
UndoResult undo(const Scope& scope, const UndoOptions& options = {});

}  // namespace tare
