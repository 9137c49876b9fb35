// The course of a transaction over objects, from its journal to its record.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/objects/object_claim.hpp"

namespace tare {

/// Claims, makes all objects new from what was `seen` of each, and leaves the journal as that record; or nothing.
/// Throws as commit().
void run(const ObjectHome& home, Journal journal, const std::vector<ObjectSeen>& seen,
         std::optional<StoredRecord> record);

/// The folders, besides `home`'s, in which a journal may concern objects of it: the deepest first.
std::vector<std::string> folders_around(const ObjectHome& home, const std::vector<FileRecord>& files);

/// Makes old again what was interrupted there and concerns `path`. Throws as recover_around().
std::optional<Pending> recover_in(const ObjectHome& home, const std::string& path, const RecoverOptions& options);

/// Removes what an undone record hides, and the pending journal.
void clear_up(const ObjectHome& home, const Journal& journal);

/// The record that the transaction leaves.
StoredRecord record_left_by(const Journal& journal);

}  // namespace tare
