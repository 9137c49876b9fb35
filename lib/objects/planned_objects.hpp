// The edits of objects as records, from what the store says of each now.
#pragma once

#include <vector>

#include "lib/objects/object_home.hpp"
#include "lib/transaction/transaction.hpp"

namespace tare {

struct PlannedObjects {
  std::vector<FileRecord> records;
  std::vector<ObjectSeen> seen;  ///< of each record's object
};

/// The deepest folder that has all objects in it.
std::string common_folder(const std::vector<FileEdit>& edits);

/// Without those that change no byte. Throws `refused` where an object is not what the edit was planned for, would lose
/// labels or a lock, or could be made of what is there by sending all of it alone, where that is not asked for.
PlannedObjects planned_objects(const ObjectHome& home, const std::vector<FileEdit>& edits,
                               const TransactionOptions& options);

/// Of a change that is yet to be made.
ObjectVersions versions_before(const ObjectSeen& seen);

/// Throws `refused` where an object has labels, or a lock, which a new version would lose.
void require_nothing_lost(const std::string& path, const ObjectSeen& seen);

/// `labels-unseen` where these credentials may not see whether the first of these objects has labels: nor do they see
/// those of the others. Throws as require_nothing_lost().
std::vector<Finding> unseen_losses(const ObjectHome& home, const std::vector<FileRecord>& records);

/// A new edit of these, not yet claimed.
Journal journal_of(const ObjectHome& home, const std::vector<FileRecord>& records, const std::vector<FieldEdit>& fields,
                   const TransactionOptions& options);

}  // namespace tare
