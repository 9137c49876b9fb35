#include "lib/transaction/undo.hpp"

#include <fmt/format.h>

#include <map>

#include "lib/base/error.hpp"
#include "lib/transaction/apply.hpp"
#include "lib/transaction/carry_out.hpp"
#include "lib/transaction/target.hpp"

namespace tare {
namespace {

/// Within one folder numbers tell what came last, whatever the clock did; between folders only the clock can.
bool is_later(const FoundRecord& a, const FoundRecord& b) {
  if (a.store.folder() == b.store.folder()) return a.record.number > b.record.number;
  const timespec first = a.journal.edited;
  const timespec second = b.journal.edited;
  return first.tv_sec != second.tv_sec ? first.tv_sec > second.tv_sec : first.tv_nsec > second.tv_nsec;
}

FoundRecord last_applied(const Scope& scope) {
  std::map<std::string, FoundRecord> last_of_folder;
  for (FoundRecord& found : records_of(scope)) {
    if (found.record.state != RecordState::applied) continue;
    const auto [last, is_first] = last_of_folder.try_emplace(found.store.folder(), found);
    if (!is_first && is_later(found, last->second)) last->second = std::move(found);
  }
  if (last_of_folder.empty())
    throw Error(Status::refused, scope.name() + ": nothing to undo", "`tare history` shows what was edited");
  auto last = last_of_folder.begin();
  for (auto other = last; other != last_of_folder.end(); ++other) {
    if (is_later(other->second, last->second)) last = other;
  }
  return std::move(last->second);
}

/// File systems keep times to a second, a microsecond or a nanosecond; what was set reads back rounded down.
bool is_as_set(timespec now, timespec set) {
  constexpr long per_microsecond = 1000;
  return now.tv_sec == set.tv_sec &&
         (now.tv_nsec == set.tv_nsec || now.tv_nsec == 0 || now.tv_nsec == set.tv_nsec - set.tv_nsec % per_microsecond);
}

/// The way back for one file, from what it is now.
FileRecord way_back(const Store& store, const FileRecord& edit, timespec now, const UndoOptions& options) {
  const auto there = open_target(store, edit);
  if (!there || stand_of(*there, edit) != Stand::after) {
    throw Error(Status::refused, store.target(edit) + ": is no longer what that edit made of it",
                "it was changed since: undo later edits of it first, or leave it as it is");
  }
  const OpenFile file = open_editable(store.files(), store.target(edit), options.allow_hard_links);
  const struct stat status = file.status();
  FileRecord back = inverse(edit);
  back.inode = status.st_ino;
  back.mode = status.st_mode & 07777;
  back.mtime_before = status.st_mtim;
  // A file touched or copied since keeps saying so: its old time would hide that from those who compare times.
  back.mtime_after = is_as_set(status.st_mtim, edit.mtime_after) ? edit.mtime_before : now;
  return back;
}

UndoResult described(UndoKind kind, const Store& store, const Journal& journal) {
  UndoResult result{kind, journal.number, store.folder(), {}, absolute_fields(store, journal)};
  for (const FileRecord& record : journal.files) result.files.push_back(store.target(record));
  return result;
}

mode_t mode_of(const Store& store, StoredRecord record) {
  const auto status = status_of(store.files(), store.record_path(record));
  return status ? status->st_mode & 0777 : S_IRUSR | S_IWUSR;
}

/// What is interrupted, rolled back; nothing where nothing is.
std::optional<UndoResult> rolled_back(const Scope& scope, const UndoOptions& options) {
  const auto pending = find_pending(scope);
  if (!pending) return std::nullopt;
  const auto done = recover(Store(scope.files(), pending->folder), options.recovery);
  if (!done) return std::nullopt;
  return UndoResult{UndoKind::rolled_back, done->number, done->folder, done->files, done->fields};
}

/// The undone record hides the applied one already; the next transaction would sweep it away.
void remove_replaced(const FoundRecord& found) {
  try {
    remove_if_there(found.store.files(), found.store.record_path(found.record));
  } catch (const Error&) {
    return;
  }
}

}  // namespace

UndoResult undo(const Scope& scope, const UndoOptions& options) {
  if (auto result = rolled_back(scope, options)) return std::move(*result);
  const FoundRecord found = last_applied(scope);

  std::vector<std::string> targets;
  for (const FileRecord& record : found.journal.files) targets.push_back(found.store.target(record));
  const Claim held = claim(found.store, scope.of(targets), mode_of(found.store, found.record), options.recovery);
  Journal journal = found.journal;
  try {
    // Another undo may have come first, between the look and the claim.
    journal = found.store.read(found.record);
    journal.kind = JournalKind::undo;
    journal.when = scope.files().now();
    for (FileRecord& record : journal.files) record = way_back(found.store, record, journal.when, options);
  } catch (...) {
    held.withdraw();
    throw;
  }
  carry_out(held, journal, StoredRecord{journal.number, RecordState::undone});
  remove_replaced(found);
  return described(UndoKind::undone, found.store, journal);
}

}  // namespace tare
