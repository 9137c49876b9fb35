// Reading checkpoints that somebody may be editing.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/transaction/recover.hpp"

namespace tare {

struct SettledCheckpoint {
  Checkpoint checkpoint;
  std::optional<Pending> pending;  ///< a transaction that is not finished: what is read may be a mixture
};

/// Where the transactions of what lies at a path are looked for, and by whose key they are known.
using ScopeOf = std::function<Scope(const std::string& path)>;

/// Opens `path`, of this machine's file system, so that no change falls between the reading of one part and of another:
/// where a transaction is at work, or a file is another when all is read, waits a moment and reads again. After a
/// second of that it gives what it has with the transaction that still runs. Records of edits that this user's key did
/// not seal are among the findings (`foreign-record`). Throws `busy` where there is none and the
/// files change all the same, and what open_checkpoint throws.
SettledCheckpoint open_settled(const std::string& path, const OpenOptions& options, const ScopeOf& scope_of);

/// Throws `busy` for a transaction that is at work, and for one of this user's that was interrupted: at `path` nothing
/// is settled.
void require_finished(const std::string& path, const std::optional<Pending>& pending);

/// The same where only a settled state will do: throws `busy` for a transaction that is at work, and for one of this
/// user's that was interrupted. What others say of such is nothing to go by.
Checkpoint open_finished(const std::string& path, const OpenOptions& options, const ScopeOf& scope_of);

}  // namespace tare
