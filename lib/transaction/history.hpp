// What was edited: the records that `.tare` keeps, for people to read and for undo to use.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/finding.hpp"
#include "lib/transaction/recover.hpp"

namespace tare {

enum class HistoryState {
  applied,
  undone,
  damaged,  ///< the record cannot be read: its edit cannot be undone
};

struct HistoryEntry {
  std::uint64_t number = 0;  ///< counts up in its folder
  std::string id;            ///< no other edit has it, in whatever folder; empty if damaged
  bool is_own = false;       ///< sealed with this user's key; else it is only what somebody says
  Origin origin;             ///< who made it; empty where an older tare did
  std::string folder;        ///< the one that holds `.tare`
  std::string when;          ///< of the edit, ISO 8601, UTC: "2026-03-01T12:00:00Z"; empty if damaged
  std::string undone_when;   ///< likewise; empty unless undone
  timespec changed = {};     ///< when the edit was made, or undone
  HistoryState state = HistoryState::applied;
  std::vector<std::string> files;  ///< absolute
  std::vector<FieldEdit> fields;
};

/// Every edit of what is in the scope that is on record, oldest first, one at a time: of thousands none but the one
/// that is told is in memory. Damaged records come before all others, for any scope.
void history(const Scope& scope, const std::function<void(const HistoryEntry&)>& take);

struct Pruned {
  std::size_t records = 0;         ///< that went
  std::vector<Pending> ended;      ///< what was interrupted: rolled back if it was own or trusted, else forgotten
  std::optional<Error> busy = {};  ///< of a store: what stayed as it is, as somebody is at work there
};

/// Removes the records of the scope, and with them the means to undo. First rolls back what was interrupted; files of
/// that which somebody else wrote since stay as they are. What concerns other files alone is left alone, and so is what
/// nobody can read outside the folders that were named. Throws `refused`, with nothing done, where a transaction over
/// other files is not finished in a folder whose records are to go.
Pruned prune(const Scope& scope, const RecoverOptions& options = {});

/// What a record says; of a damaged one `journal` is null.
HistoryEntry history_entry(const std::string& folder, StoredRecord record, const Journal* journal);

/// A record that concerns what the user named, and what tells when it was made.
struct FoundRecord {
  std::string folder;
  StoredRecord record;
  bool is_own = false;  ///< sealed with this user's key
  timespec edited{};
  std::string id;
};

/// What undo would take back, and what it passes over.
struct LastApplied {
  std::optional<FoundRecord> record;  ///< nothing where none fits
  bool has_untrusted = false;         ///< one would fit if it were trusted
  bool has_records = false;           ///< some were looked at, whatever they are
};

/// The newest applied record of the scope: the edit named `id`, or any where that is empty. Of each folder it reads
/// from the newest to the first that fits and no further. Others' records count where `trusts` says so of their folder.
LastApplied last_applied(const Scope& scope, const std::string& id,
                         const std::function<bool(const std::string& folder)>& trusts);

/// What everybody who reads is told of records that this user's key did not seal: `foreign-record`. Nothing where there
/// are none.
std::optional<Finding> foreign_records(const Scope& scope);

std::string utc_text(timespec moment);

/// The fields of a journal with absolute file names, as they were edited.
std::vector<FieldEdit> absolute_fields(const std::string& folder, const Journal& journal);

}  // namespace tare
