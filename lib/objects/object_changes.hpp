// Carrying out the journal of a claim, object by object, and taking it back.
#pragma once

#include <optional>
#include <vector>

#include "lib/objects/object_claim.hpp"
#include "lib/transaction/apply.hpp"

namespace tare {

/// Where an object stands; one that is not there is foreign.
FileState object_state(const ObjectHome& home, const FileRecord& record, const std::optional<ObjectSeen>& seen);

/// Is it made by parts, and what is not changed copied by the store?
bool is_composed(const FileRecord& record);

/// Is all that changes that bytes come behind the end, or that those go again? That is all that a store does to a large
/// object that copies no parts of it.
bool grows_alone(const FileRecord& record);
bool shrinks_alone(const FileRecord& record);
/// Removes the copies that such a store has of what grew; of what shrank again, of that which it was made of.
void let_go_of_copies(const ObjectHome& home, const std::vector<FileRecord>& records);
void let_go_of_copies_brought_back(const ObjectHome& home, const std::vector<FileRecord>& records);
/// The way back, with what the bucket calls the version that it leads to.
FileRecord inverse_of_object(const FileRecord& record);

/// Begins the new versions of those that are composed, and notes them in the records: nothing is to be seen of them,
/// and whoever reads the journal can keep them from becoming whole.
void begin_uploads(const ObjectHome& home, std::vector<FileRecord>& records, const std::vector<ObjectSeen>& seen);
void give_up_uploads(const ObjectHome& home, const std::vector<FileRecord>& records);
/// The same before anybody can read the journal.
void drop_uploads(const ObjectHome& home, const std::vector<FileRecord>& records);

/// Makes all objects of the claim's journal new, from what was `seen` of each; what they are then. Where that fails it
/// makes them old again, withdraws the claim and throws: `refused` where an object is no longer what was seen, what the
/// store says, and `busy` where the claim was lost. Where it cannot even go back, the claim stays for others.
std::vector<ObjectSeen> apply(ObjectClaim& claim, const std::vector<ObjectSeen>& seen);

/// Makes those objects of the claim's journal old, by number, wherever they stand. May be repeated. Throws `refused`,
/// before anything is written, where one is neither old nor new, unless such are to be left.
void roll_back(ObjectClaim& claim, const std::vector<std::size_t>& numbers, const RecoverOptions& options);

}  // namespace tare
