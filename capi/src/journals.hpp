// What options say of journals, and how checkpoints are opened with an eye on them.
#pragma once

#include <string>

#include "lib/edit/open_settled.hpp"
#include "lib/state/value.hpp"
#include "lib/transaction/journal_key.hpp"
#include "lib/transaction/recover.hpp"

namespace tare::capi {

/// Which key is the user's, and whether journals of others are trusted: in every options object.
struct Journals {
  std::string state_folder = home_state_folder();
  RecoverOptions recovery;
};

/// False where the option is another one.
bool take_journal_option(Journals& journals, const std::string& key, const StateValue& value);

/// None where it cannot be read: reading goes on without.
JournalKey key_for_reading(const Journals& journals);

/// Where this user's transactions over what lies at a path are looked for.
ScopeOf scopes_of(const JournalKey& key);

/// Throws `invalid_argument`: the options have no such key, and these are allowed.
[[noreturn]] void refuse_key(const std::string& key, const char* allowed);

/// The members of an options object; none for null or empty text.
StateSection options_of(const char* json);

}  // namespace tare::capi
