// What was edited: the records that `.tare` keeps, for people to read and for undo to use.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  HistoryState state = HistoryState::applied;
  std::vector<std::string> files;  ///< absolute
  std::vector<FieldEdit> fields;
};

/// Every edit of what is in the scope that is on record, oldest first. Damaged records are listed for any scope.
std::vector<HistoryEntry> history(const Scope& scope);

/// Removes the records of the scope, and with them the means to undo. First rolls back what was interrupted; files of
/// that which somebody else wrote since stay as they are. How many records went.
std::size_t prune(const Scope& scope, RecoverOptions options = {});

/// A record that concerns what the user named.
struct FoundRecord {
  std::string folder;
  StoredRecord record;
  Journal journal;  ///< without the bytes of the files
};

/// Those that can be read, oldest first, whatever folder they are in.
std::vector<FoundRecord> records_of(const Scope& scope);

/// What everybody who reads is told of records that this user's key did not seal: `foreign-record`. Nothing where there
/// are none.
std::optional<Finding> foreign_records(const Scope& scope);

std::string utc_text(timespec moment);

/// The fields of a journal with absolute file names.
std::vector<FieldEdit> absolute_fields(const std::string& folder, const Journal& journal);

}  // namespace tare
