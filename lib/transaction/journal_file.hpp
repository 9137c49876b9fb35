// A journal as a file in `.tare`, which anybody may have put there.
#pragma once

#include "lib/transaction/folder.hpp"
#include "lib/transaction/journal.hpp"

namespace tare {

/// Is what has that name a regular file? Nothing where nothing has it.
std::optional<bool> is_regular(const Place& place);

/// Does it end with a seal by this key, over all that comes before? Read piece by piece.
bool is_sealed(const OpenFile& file, const JournalKey& key);

/// Nothing where it was never complete. Throws as `decoded`, and `refused` where it is no journal that tare wrote: no
/// regular file, mostly holes, or not this user's own and larger than limits::max_foreign_journal_bytes. Memory is
/// bounded by that, but for the user's own.
std::optional<Journal> read_journal(const OpenFile& file, const JournalKey& key);

}  // namespace tare
