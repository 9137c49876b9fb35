// Changes of any number of objects of a store, made as one as far as a store allows it. README.md has the argument.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/object_layer.hpp"
#include "lib/objects/planned_request.hpp"
#include "lib/transaction/history.hpp"
#include "lib/transaction/transaction.hpp"
#include "lib/transaction/undo.hpp"

namespace tare {

/// As commit() of files: carries out all `edits`, whose paths are URLs of one bucket and whose versions are the ETags
/// that were read, or none. Throws `refused` where an object is another by now, has labels that it would lose, or where
/// the store does not keep to conditions; `busy` where somebody else is at work; `io` for what the store says.
Receipt commit(ObjectLayer& objects, const std::vector<FileEdit>& edits, const std::vector<FieldEdit>& fields,
               const TransactionOptions& options);

/// The requests that commit() would make, in order. Throws as it does, as far as that can be told without writing.
std::vector<PlannedRequest> planned_requests(ObjectLayer& objects, const std::vector<FileEdit>& edits,
                                             const std::vector<FieldEdit>& fields, const TransactionOptions& options);

/// The unfinished transaction that concerns what was read as a checkpoint, if there is one: that of its folder, of an
/// object alone also that of the folder around. What may not be read is taken for absent.
std::optional<Pending> find_pending(ObjectLayer& objects, const std::string& resolved,
                                    const std::vector<std::string>& read, const JournalKey& key);

/// A folder that may have a `.tare`.
struct JournalFolder {
  std::string folder;
  std::optional<std::vector<std::string>> names;  ///< what is in that, where a listing told
};

/// Where journals may be that concern the object or the folder at `path`.
struct JournalPlaces {
  std::string path;
  std::vector<JournalFolder> folders;  ///< the one at `path`, those that it is in, up to the bucket, and those below it
};

/// By one listing of all that is below `path`, as far as that may be listed.
JournalPlaces journal_places(ObjectLayer& objects, const std::string& path);

/// Makes old again what was interrupted and concerns `path`, of journals in the folder at `path` and in those that it
/// is in: what concerns an edit there; what that was. Throws `busy` where somebody is still at work, or was within the
/// last minute; `refused` where an object is neither old nor new, or the journal is nobody's who is trusted.
std::vector<Pending> recover_around(ObjectLayer& objects, const std::string& path, const JournalKey& key,
                                    const RecoverOptions& options);

/// The unfinished transaction that concerns the object or the folder at `path`, in whatever folder its journal is.
std::optional<Pending> find_pending(ObjectLayer& objects, const JournalPlaces& places, const JournalKey& key);
/// The same, as of recover_around().
std::optional<Pending> find_pending_around(ObjectLayer& objects, const std::string& path, const JournalKey& key);

/// The unfinished transactions in the folder at `path` and in all below it, by one listing; of an object at `path`
/// those that concern it. None where the folder may not be listed.
std::vector<Pending> all_pending(ObjectLayer& objects, const std::string& path, const JournalKey& key);

/// As history() of files: every edit on record that concerns the object or the folder at `path`, oldest first.
void history(ObjectLayer& objects, const JournalPlaces& places, const JournalKey& key,
             const std::function<void(const HistoryEntry&)>& take);

/// As prune() of files. A folder where somebody is at work, or was within the last minute, stays as it is, and the
/// result says so.
Pruned prune(ObjectLayer& objects, const std::string& path, const JournalKey& key, RecoverOptions options);

/// As undo() of files, for the object or the folder at `path`. What is written is sealed with `key`. What others left
/// unfinished below the folder, and what is no journal, stays and keeps nobody from it.
UndoResult undo(ObjectLayer& objects, const std::string& path, const JournalKey& key, const UndoOptions& options);

}  // namespace tare
