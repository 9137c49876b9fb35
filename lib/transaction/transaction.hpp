// Changes of any number of files, made as one: after a crash, a kill or a full disk at any point, recovery makes every
// file old, or every file is new. README.md has the argument.
#pragma once

#include <string>
#include <vector>

#include "lib/base/file_identity.hpp"
#include "lib/base/finding.hpp"
#include "lib/transaction/copied.hpp"
#include "lib/transaction/recover.hpp"

namespace tare {

struct FileEdit {
  std::string path;
  FileChange change;
  FileStamp planned = {};    ///< when the change was planned
  std::string version = {};  ///< of an object in a store, which has no status: its version then
};

struct TransactionOptions {
  bool keep_history = true;              ///< false: no undo, nothing is left beside the files
  bool allow_hard_links = false;         ///< edit files with several names (rewriting one parts it from the others)
  bool allow_content_addressed = false;  ///< edit files that are named by their own hash
  /// Where a store copies no part of an object: send all bytes of a large one again, whatever of it changes.
  bool send_whole = false;
  std::string upper;  ///< how far up other transactions are looked for; see Scope
  RecoverOptions recovery = {};
  JournalKey key = {};  ///< to seal the journal with; none: undo will need to be told to trust it
  Origin origin = {};   ///< for the history
  OnCopied on_copied = {};
};

/// What was done.
struct Receipt {
  std::uint64_t number = 0;        ///< in the history of `folder`; 0 where no history is kept
  std::string id;                  ///< no other edit has it; empty where no history is kept
  std::string when;                ///< ISO 8601, UTC; empty where nothing had to be written
  Origin origin;                   ///< who made it
  std::string folder;              ///< the deepest one that contains all files: `.tare` is in it
  std::vector<std::string> files;  ///< changed, absolute and without symlinks
  /// `not-durable`, `edited-through-link`, `hard-link-parted`, `stale-checksum`, `checksum-not-read`,
  /// `journal-unsealed`
  std::vector<Finding> findings;
};

/// Carries out all `edits`, or none. `fields` is what history shows of them; a `file` there is the `path` of an edit.
/// Edits that change no byte are dropped; where none is left, nothing is written and the receipt names no files.
///
/// Throws, with all files as they were and nothing left behind: `refused` (a file changed since it was planned, has
/// hard links, is named by its hash; files of several devices), `busy` (another tare is at work), `io` (no right to
/// write, read-only file system, disk full), `invalid_argument` (changes that make no sense, two changes of one file).
Receipt commit(FileLayer& files, const std::vector<FileEdit>& edits, std::vector<FieldEdit> fields,
               const TransactionOptions& options);

/// Throws what `commit` would refuse, as far as that can be told without writing; for dry runs.
void require_possible(FileLayer& files, const std::vector<FileEdit>& edits, const TransactionOptions& options);

/// `journal-unsealed`, of an edit whose records are in `folder`.
Finding journal_unsealed(const std::string& folder);

/// `stale-checksum` for every file of sums beside `paths` (`x.sha256`, `SHA256SUMS`, `integrity.json` ...) that covers
/// one of them and is not itself among them; `checksum-not-read` for those that cannot be looked at. `paths` are
/// absolute and without symlinks. Nothing that lies there makes it throw. Only sums count that were written after
/// `since`: those of before an edit hold again once it is taken back.
std::vector<Finding> stale_checksums(FileLayer& files, const std::vector<std::string>& paths, timespec since = {});

}  // namespace tare
