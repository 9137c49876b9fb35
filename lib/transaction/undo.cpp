#include "lib/transaction/undo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "lib/base/error.hpp"
#include "lib/transaction/apply.hpp"
#include "lib/transaction/each_file.hpp"
#include "lib/transaction/run_journal.hpp"
#include "lib/transaction/target.hpp"
#include "lib/transaction/transaction.hpp"

namespace tare {
namespace {

FoundRecord record_to_undo(const Scope& scope, const UndoOptions& options) {
  const LastApplied last = last_applied(scope, options.id, [&](const std::string& folder) {
    return options.recovery.trust_journals && scope.encloses(folder);
  });
  if (last.record) return *last.record;
  const std::string what = options.id.empty() ? "nothing" : "no edit " + options.id;
  if (!last.has_records && !status_of(scope.files(), scope.name())) throw_io(scope.name(), ENOENT);
  if (!last.has_untrusted)
    throw Error(Status::refused, scope.name() + ": " + what + " to undo", "`tare history` shows what was edited");
  throw Error(Status::refused, scope.name() + ": " + what + " to undo that is sealed with your key",
              "`tare history` shows what else is on record; --trust-journal undoes that, after saying what it writes");
}

/// File systems keep times to a second, a microsecond or a nanosecond; what was set reads back rounded down.
bool is_as_set(timespec now, timespec set) {
  constexpr long per_microsecond = 1000;
  return now.tv_sec == set.tv_sec &&
         (now.tv_nsec == set.tv_nsec || now.tv_nsec == 0 || now.tv_nsec == set.tv_nsec - set.tv_nsec % per_microsecond);
}

[[noreturn]] void throw_edited_since(const std::string& path) {
  throw Error(Status::refused, path + ": is no longer what that edit made of it",
              "it was changed since: undo later edits of it first, or leave it as it is");
}

/// The way back for one file, from what it is now.
FileRecord way_back(const Store& store, const FileRecord& edit, timespec now, const UndoOptions& options) {
  const auto place = store.target(edit);
  const auto named = place ? place->status() : std::nullopt;
  if (!named || !S_ISREG(named->st_mode)) throw_edited_since(store.path(edit));
  const auto [file, status] = open_editable(*place, options.allow_hard_links);
  if (file_state(file, edit) != FileState::after) throw_edited_since(file.path());
  FileRecord back = inverse(edit);
  back.inode = status.st_ino;
  back.mode = status.st_mode & 07777;
  back.mtime_before = status.st_mtim;
  // A file touched or copied since keeps saying so: its old time would hide that from those who compare times.
  back.mtime_after = is_as_set(status.st_mtim, edit.mtime_after) ? edit.mtime_before : now;
  return back;
}

mode_t mode_of(const Store& store, StoredRecord record) {
  return store.record_place(record).open(O_RDONLY).status().st_mode & 0777;
}

/// The interrupted transaction that is meant: that of the id, if there is one.
std::optional<Pending> pending_to_undo(const Scope& scope, const std::string& id) {
  if (id.empty()) return find_pending(scope);
  std::vector<Pending> all = all_pending(scope);
  const auto meant = std::ranges::find(all, id, &Pending::id);
  return meant == all.end() ? std::nullopt : std::optional(std::move(*meant));
}

/// What is interrupted and meant, rolled back; nothing where nothing is.
std::optional<UndoResult> rolled_back(const Scope& scope, const UndoOptions& options) {
  const auto pending = pending_to_undo(scope, options.id);
  const auto store = pending ? scope.store_in(pending->folder) : std::nullopt;
  auto done = store ? recover(*store, scope, options.recovery) : std::nullopt;
  if (!done) return std::nullopt;
  return rolled_back(*std::move(done));
}

/// Of another edit that was interrupted and stood in the way of the one that was asked for.
std::vector<Finding> told_of(const std::vector<Pending>& ended) {
  std::vector<Finding> findings;
  for (const Pending& pending : ended) findings.push_back(rolled_back_first(pending));
  return findings;
}

/// Where the files of the record are.
std::vector<std::string> targets_of(const Store& store, StoredRecord record) {
  std::vector<std::string> paths;
  for (const FileRecord& file : store.read(record).files) paths.push_back(store.path(file));
  return paths;
}

/// The undone record hides the applied one already; the next transaction would sweep it away.
void remove_replaced(const Place& record) {
  try {
    record.folder.remove_if_there(record.name);
  } catch (const std::exception&) {
    return;
  }
}

/// Sums that were written of what the edit made no longer hold.
void add_stale_checksums(FileLayer& files, const Journal& journal, UndoResult& result) {
  try {
    auto stale = stale_checksums(files, result.files, journal.edited);
    std::move(stale.begin(), stale.end(), std::back_inserter(result.findings));
  } catch (const std::exception&) {
    return;  // the change is made, whatever else there would be to say of it
  }
}

/// The transaction that takes back what the record says.
Journal way_back(const Claim& held, StoredRecord record, const UndoOptions& options) {
  const Store& store = held.store();
  // Another undo may have come first, between the look and the claim.
  Journal journal = store.read(record);
  const OpenFile edited = store.record_place(record).open(O_RDONLY);
  held.restrict_to(held.readers_of(edited, edited.status()));
  require_trusted(store, journal, store.record_place(record).path(), true, options.recovery);
  journal.kind = JournalKind::undo;
  journal.when = store.files().now();
  const auto turn_back = [&](std::size_t i) {
    journal.files[i] = way_back(store, journal.files[i], journal.when, options);
  };
  for_each_file(store.files(), journal.files.size(), turn_back).rethrow();
  return journal;
}

}  // namespace

UndoResult undone(const std::string& folder, const Journal& journal) {
  UndoResult result;
  result.number = journal.number;
  result.id = journal.id;
  result.origin = journal.origin;
  result.when = utc_text(journal.edited);
  result.folder = folder;
  for (const FileRecord& record : journal.files) result.files.push_back(joined(folder, record.name));
  result.fields = absolute_fields(folder, journal);
  return result;
}

Finding rolled_back_first(const Pending& done) {
  return {Severity::note, "rolled-back",
          fmt::format("an {} of {} (#{}, {}) was interrupted, and was rolled back first", name(done.kind), done.when,
                      done.number, done.id),
          done.folder, ""};
}

UndoResult rolled_back(Pending done) {
  return {UndoKind::rolled_back,
          done.number,
          std::move(done.id),
          std::move(done.origin),
          std::move(done.when),
          std::move(done.folder),
          std::move(done.files),
          std::move(done.fields),
          {},
          done.kind};
}

UndoResult undo(const Scope& scope, const UndoOptions& options) {
  UndoOptions wanted = options;
  wanted.recovery.allow_hard_links = options.allow_hard_links;
  if (auto result = rolled_back(scope, wanted)) return std::move(*result);
  const FoundRecord found = record_to_undo(scope, wanted);

  const auto store = scope.store_in(found.folder);
  if (!store) throw Error(Status::busy, found.folder + ": its records are gone", "try again");
  const Scope targets = scope.of(targets_of(*store, found.record));
  std::vector<Finding> findings = told_of(recover(targets, wanted.recovery));
  const Claim held = claim(store->home(), targets, mode_of(*store, found.record), wanted.recovery);
  Journal journal;
  try {
    journal = way_back(held, found.record, wanted);
  } catch (...) {
    held.withdraw();
    throw;
  }
  // What can fail by itself comes before the change is made.
  UndoResult result = undone(held.store().folder(), journal);
  result.findings = std::move(findings);
  std::ranges::move(
      run_journal(held, journal, StoredRecord{found.record.number, RecordState::undone}, options.on_copied),
      std::back_inserter(result.findings));
  remove_replaced(held.store().record_place(found.record));
  add_stale_checksums(store->files(), journal, result);
  return result;
}

}  // namespace tare
