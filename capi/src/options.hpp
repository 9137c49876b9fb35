// Options that come as JSON: a table says where each of them goes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/edit/open_settled.hpp"
#include "lib/edit/request.hpp"
#include "lib/transaction/recover.hpp"
#include "lib/transaction/transaction.hpp"

namespace tare::capi {

/// null leaves an optional text empty; a number may be written whole.
using OptionTarget = std::variant<bool*, std::string*, std::optional<std::string>*, std::int64_t*, double*,
                                  std::function<void(const StateValue&)>>;

struct OptionPlace {
  const char* key;
  OptionTarget target;  ///< outlives the reading
};
using OptionPlaces = std::vector<OptionPlace>;

/// Puts every member of a JSON object where `places` say; NULL and empty text have none. `what` ("the options") is for
/// messages. Throws `invalid_argument` for other keys and kinds, and names those that there are.
void take_options(const char* json, const char* what, const OptionPlaces& places);

/// "set": what is to be put where, in the user's words. Throws `invalid_argument`.
std::vector<Assignment> assignments_of(const StateValue& value);
/// The members of an object within the options. Throws `invalid_argument`.
StateSection members_of(const StateValue& value, const std::string& key);

/// Which key is the user's, and whether journals of others are trusted.
struct Journals {
  std::string state_folder = home_state_folder();
  RecoverOptions recovery = {};
  std::vector<Finding> trusted = {};  ///< what was announced of journals that are, as findings of the answer

  /// "state_folder", which is absolute, or empty. REQUIRES: this stays where it is.
  OptionPlace place();
  [[nodiscard]] ScopeOf scopes_for_reading() const;
  /// Keeps what `recovery` announces. REQUIRES: this stays where it is.
  void keep_announced();
};

/// What all calls have that change files.
struct ChangeOptions {
  Journals journals = {};
  TransactionOptions transaction = {};
  bool dry_run = false;
  double wait_seconds = 0;  ///< how long to try again where somebody else is editing

  /// "dry_run", "history", "hard_links", "content_addressed", "state_folder", "trust_journal", "wait_seconds".
  OptionPlaces places();
};

/// `more` behind `places`.
OptionPlaces joined(OptionPlaces places, const OptionPlaces& more);

}  // namespace tare::capi
