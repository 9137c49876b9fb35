// Opening a checkpoint for a verb, with an eye on transactions that were interrupted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/transaction/recover.hpp"
#include "tools/terminal.hpp"

namespace tare {
struct Trace;
}

struct Opened {
  tare::Checkpoint checkpoint;
  std::optional<tare::Pending> pending;
};

/// Where the checkpoint cannot be read, a pending transaction, which may be why, is told on stderr first.
Opened open_for_reading(const Terminal& terminal, const std::string& path, const tare::OpenOptions& options);

/// Edits that are not finished in a store, at `url` and below it.
std::vector<tare::Pending> unfinished_in_store(const std::string& url);

/// Those of the checkpoints that a trace of `paths` was read from; of a store those of `paths`.
std::vector<tare::Pending> unfinished_of(const std::vector<std::string>& paths, const tare::Trace& trace);

/// Tells on stderr of edits that are not finished.
void tell_unfinished(const Terminal& terminal, const std::vector<tare::Pending>& unfinished);

/// What open_finished gives, of a store, too.
tare::Checkpoint open_finished_at(const std::string& path);

/// The storage that all of `paths` are in; "-" is in any. Throws `invalid_argument` where they are in several.
const tare::Files& one_storage_of(const std::vector<std::string>& paths);

/// Throws `refused` for a URL, and for standard input: for verbs that need the file system.
void require_local(const std::string& path);

/// To open what a verb will write to.
tare::OpenOptions options_for_writing(const Terminal& terminal, const std::string& path);

/// Tells on stderr of records of edits that the user's key did not seal, for verbs that do not show the findings.
void tell_foreign_records(const Terminal& terminal, const tare::Checkpoint& checkpoint);

/// The same, and what makes a checkpoint's answer a "no", for such verbs; the exit code.
int exit_of(const Terminal& terminal, const tare::Checkpoint& checkpoint);
