// Where journals that concern a path of a store can be, and which of them do.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/objects/object_home.hpp"
#include "lib/objects/object_transaction.hpp"

namespace tare {

/// Throws `refused` for a path with an empty part ("a//b.pt"): no folder that a journal could be in is called so.
void require_reachable(const std::string& path);

/// `path` itself, and all that it is in, up to the bucket.
std::vector<std::string> folders_to_look_into(const std::string& path);

/// The same, not listed.
JournalPlaces places_around(const std::string& path);

/// May it have a pending journal? False where a listing named none.
bool may_have_pending(const JournalFolder& folder);

/// Calls `look` with the records of each of the places. Those that these credentials may not list are passed over: who
/// may not do that has made no edit there. Throws `io` where that are all.
void for_each_home(ObjectLayer& objects, const JournalPlaces& places, const JournalKey& key,
                   const std::function<void(const ObjectHome&, std::span<const StoredRecord>)>& look);

/// Its pending journal; likewise none where it may not be read. Throws as ObjectHome::read.
std::optional<StoredJournal> readable_pending(const ObjectHome& home);

/// The folders that have a pending journal: `path` and those below it, as they are listed; of an object the one around
/// it. None where they may not be listed.
std::vector<std::string> folders_with_pending(ObjectLayer& objects, const std::string& path);

/// Is it the folder at `path`, or one below it?
bool is_within(const ObjectHome& home, const std::string& path);

/// Is any object of the journal the one at `path`, or below it?
bool touches(const ObjectHome& home, const Journal& journal, const std::string& path);

}  // namespace tare
