// Transactions that were interrupted: finding them, rolling them back, and keeping out of the way of running ones.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/transaction/claim.hpp"
#include "lib/transaction/scope.hpp"

namespace tare {

enum class PendingState {
  in_progress,  ///< another tare is at work: wait
  interrupted,  ///< a crash or a kill: the state before it rules, and the next edit or undo brings it back
  unreadable,   ///< something is there, but no journal that this user can read: nothing is known of it
};

/// A transaction that is not finished. Of an own one the state *before* it rules, whatever the files hold now; any
/// other one is only what somebody says.
struct Pending {
  PendingState state = PendingState::interrupted;
  bool is_own = false;  ///< sealed with this user's key
  std::string problem;  ///< unreadable: why
  std::string folder;   ///< the one that holds `.tare`
  JournalKind kind = JournalKind::edit;
  std::uint64_t number = 0;
  std::string id;
  Origin origin;
  std::string when;                ///< ISO 8601, UTC
  std::vector<std::string> files;  ///< absolute, all of the transaction
  /// Of an own one that was interrupted: those of them that something else has written or removed since. While there
  /// are any nothing is rolled back, and they are as they are.
  std::vector<std::string> foreign;
  std::vector<FieldEdit> fields;  ///< what it was to change: an undo from what an edit made to what was before
};

/// What a pending journal says.
Pending pending_of(const std::string& folder, const Journal& journal, PendingState state);
/// What is known of one that says nothing.
Pending unreadable_pending(const std::string& folder, std::string problem);

/// The unfinished transaction that concerns what is in the scope, if any: an own one before one of others. Takes no
/// lock and changes nothing.
std::optional<Pending> find_pending(const Scope& scope);

/// All of them, those of outer folders first: of a run folder those of each of its checkpoints.
std::vector<Pending> all_pending(const Scope& scope);

struct RecoverOptions {
  /// Files that somebody else wrote since are left as they are instead of refusing the whole.
  bool abandon_foreign_files = false;
  /// Where the file system has no locks: the maker of the journal is gone.
  bool assume_abandoned = false;
  /// Write also through files that have other names.
  bool allow_hard_links = false;
  /// Do what journals say that are not sealed with this user's key.
  bool trust_journals = false;
  /// Forget such journals, and those that cannot be read; the files stay as they are.
  bool forget_untrusted = false;
  /// Called with each line of what a trusted one would write, and where, before anything is written.
  std::function<void(const std::string&)> announce = {};
};

/// Throws `refused` unless the journal is this user's own or trusted; announces what a trusted one writes.
/// `direction_is_back`: its old bytes are to be written.
void require_trusted(const Store& store, const Journal& journal, const std::string& path, bool writes_old,
                     const RecoverOptions& options);

/// Whom a pending journal concerns, as far as that can be told without the claim.
enum class Concern {
  scope,    ///< a file of the scope
  others,   ///< none of them
  unknown,  ///< there is none, or it cannot be read, or is not complete (yet)
};
Concern concern_of_pending(const Store& store, const Scope& scope);

/// Rolls back what was interrupted in one folder of the scope, and concerns it: every file gets its old bytes, size,
/// mode and mtime. What was rolled back, or forgotten. Others are trusted only in folders that the user named. May
/// itself be interrupted and repeated. Throws `busy` where the transaction is in progress, `refused` where a file is
/// neither in its old state nor ours, or the journal is nobody's who is trusted.
std::optional<Pending> recover(const Store& store, const Scope& scope, const RecoverOptions& options);

/// The same for every folder of the scope. An edit calls it before it plans.
std::vector<Pending> recover(const Scope& scope, const RecoverOptions& options = {});

/// Takes the claim of `home` for a transaction over files of `scope`, and makes sure that no other one over them is
/// pending: rolls back interrupted ones, throws `busy` where one is in progress. `mode`: of the journal.
Claim claim(const Folder& home, const Scope& scope, mode_t mode, const RecoverOptions& options);

/// Brings those files of the journal back, by number; see `recover`. REQUIRES: the claim is held and the journal
/// durable.
void roll_back(const Store& store, const Journal& journal, const std::vector<std::size_t>& numbers,
               const RecoverOptions& options);

}  // namespace tare
