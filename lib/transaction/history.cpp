#include "lib/transaction/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <tuple>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

/// The journal of a record, or nothing where it is damaged or gone.
std::optional<Journal> readable(const Store& store, StoredRecord record) {
  try {
    return store.read(record);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What others have put there may be as many as it likes: only so much of it is kept at once.
class ForeignBudget {
 public:
  [[nodiscard]] bool allows(const Journal& journal) {
    if (journal.is_own) return true;
    std::uint64_t bytes = 0;
    for (const FieldEdit& field : journal.fields) {
      bytes += sizeof field + field.file.size() + field.place.size() + field.field.size() + field.before.size() +
               field.after.size();
    }
    for (const FileRecord& file : journal.files) bytes += sizeof file + file.name.size();
    told_ += bytes;
    return told_ <= limits::max_foreign_journal_bytes;
  }

 private:
  std::uint64_t told_ = 0;
};

/// Whatever folder they are in.
void for_each_store(const Scope& scope, const std::function<void(const Store&)>& take) {
  for (const std::string& folder : scope.folders()) {
    if (const auto store = scope.store_in(folder)) take(*store);
  }
}

FoundRecord found_in(const Store& store, StoredRecord record, const Journal& journal) {
  return {store.folder(), record, journal.is_own, journal.edited, journal.id};
}

/// Within one folder the numbers of this user's edits tell what came last, whatever the clock did.
bool is_older(const FoundRecord& a, const FoundRecord& b) {
  if (a.folder == b.folder && a.is_own && b.is_own) return a.record.number < b.record.number;
  return std::tie(a.edited.tv_sec, a.edited.tv_nsec, a.id) < std::tie(b.edited.tv_sec, b.edited.tv_nsec, b.id);
}

}  // namespace

HistoryEntry history_entry(const std::string& folder, StoredRecord record, const Journal* journal) {
  HistoryEntry entry;
  entry.number = record.number;
  entry.folder = folder;
  entry.state = HistoryState::damaged;
  if (journal == nullptr) return entry;
  entry.id = journal->id;
  entry.is_own = journal->is_own;
  entry.origin = journal->origin;
  entry.when = utc_text(journal->edited);
  entry.changed = journal->edited;
  entry.state = HistoryState::applied;
  if (record.state == RecordState::undone) {
    entry.state = HistoryState::undone;
    entry.undone_when = utc_text(journal->when);
    entry.changed = journal->when;
  }
  for (const FileRecord& file : journal->files) entry.files.push_back(joined(folder, file.name));
  entry.fields = absolute_fields(folder, *journal);
  return entry;
}

LastApplied last_applied(const Scope& scope, const std::string& id,
                         const std::function<bool(const std::string& folder)>& trusts) {
  LastApplied last;
  for_each_store(scope, [&](const Store& store) {
    const bool is_trusted = trusts(store.folder());
    const auto records = store.records();
    for (auto record = records.rbegin(); record != records.rend(); ++record) {
      const auto journal = readable(store, *record);
      if (!journal || !scope.touches(store, *journal)) continue;
      last.has_records = true;
      if (record->state != RecordState::applied || (!id.empty() && journal->id != id)) continue;
      if (!journal->is_own && !is_trusted) {
        last.has_untrusted = true;
        continue;
      }
      FoundRecord found = found_in(store, *record, *journal);
      const bool is_end = found.is_own && !is_trusted;
      if (!last.record || is_older(*last.record, found)) last.record = std::move(found);
      if (is_end) break;  // all that come before it are older
    }
  });
  return last;
}

std::optional<Finding> foreign_records(const Scope& scope) {
  std::size_t count = 0;
  std::string folder;
  for_each_store(scope, [&](const Store& store) {
    for (const StoredRecord record : store.records()) {
      if (store.is_own(record)) continue;
      const auto journal = readable(store, record);
      if (journal && !scope.touches(store, *journal)) continue;
      folder = store.folder();
      ++count;
    }
  });
  if (count == 0) return std::nullopt;
  return Finding{Severity::note,
                 "foreign-record",
                 fmt::format("{} record{} of edits in {}/.tare {} not sealed with your key: undo passes {} over", count,
                             count == 1 ? "" : "s", folder, count == 1 ? "is" : "are", count == 1 ? "it" : "them"),
                 folder,
                 {}};
}

void history(const Scope& scope, const std::function<void(const HistoryEntry&)>& take) {
  std::vector<FoundRecord> all;
  ForeignBudget budget;
  for_each_store(scope, [&](const Store& store) {
    for (const StoredRecord record : store.records()) {
      const auto journal = readable(store, record);
      if (journal && !scope.touches(store, *journal)) continue;
      const bool is_told = journal && budget.allows(*journal);
      is_told ? all.push_back(found_in(store, record, *journal)) : take(history_entry(store.folder(), record, nullptr));
    }
  });
  std::stable_sort(all.begin(), all.end(), is_older);
  for (const FoundRecord& found : all) {
    const auto store = scope.store_in(found.folder);
    const auto journal = store ? readable(*store, found.record) : std::nullopt;
    // What is gone since, or is another's by now, is not what was found.
    if (journal && journal->id == found.id && journal->is_own == found.is_own)
      take(history_entry(found.folder, found.record, &*journal));
  }
}

namespace {

/// The records that pruning takes; of those that nobody can read the ones in what the user named.
std::vector<StoredRecord> records_to_prune(const Store& store, const Scope& scope) {
  std::vector<StoredRecord> found = store.records();
  std::erase_if(found, [&](StoredRecord record) {
    const auto journal = readable(store, record);
    return journal ? !scope.touches(store, *journal) : !scope.encloses(store.folder());
  });
  return found;
}

/// Where a transaction over other files is not finished its journal stands where a claim would.
void require_claimable(const Store& store, const Scope& scope) {
  if (concern_of_pending(store, scope) != Concern::others || records_to_prune(store, scope).empty()) return;
  throw Error(Status::refused, store.pending().path() + ": an edit of other files here is not finished",
              "let it finish; `tare history` of the folder shows what it is, `tare undo` of its files rolls it back");
}

std::size_t prune_records(const Store& store, const Scope& scope, const RecoverOptions& options) {
  const bool is_tidied = scope.encloses(store.folder()) && concern_of_pending(store, scope) != Concern::others;
  if (!is_tidied && records_to_prune(store, scope).empty()) return 0;
  const Claim held = claim(store.home(), scope, S_IRUSR | S_IWUSR, options);
  const auto found = records_to_prune(held.store(), scope);
  for (const StoredRecord record : found) {
    const Place place = held.store().record_place(record);
    place.folder.remove_if_there(place.name);
  }
  held.withdraw();
  return found.size();
}

}  // namespace

Pruned prune(const Scope& scope, const RecoverOptions& options) {
  RecoverOptions ending = options;
  ending.abandon_foreign_files = true;
  ending.forget_untrusted = !options.trust_journals;
  for_each_store(scope, [&](const Store& store) { require_claimable(store, scope); });
  Pruned pruned;
  for_each_store(scope, [&](const Store& store) {
    const Concern concern = concern_of_pending(store, scope);
    if (concern == Concern::scope || (concern == Concern::unknown && scope.encloses(store.folder()))) {
      if (auto ended = recover(store, scope, ending)) pruned.ended.push_back(*std::move(ended));
    }
  });
  for_each_store(scope, [&](const Store& store) { pruned.records += prune_records(store, scope, options); });
  return pruned;
}

std::string utc_text(timespec moment) {
  std::tm parts{};
  if (::gmtime_r(&moment.tv_sec, &parts) == nullptr) return {};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::vector<FieldEdit> absolute_fields(const std::string& folder, const Journal& journal) {
  std::vector<FieldEdit> fields = journal.fields;
  for (FieldEdit& field : fields) {
    if (!field.file.empty()) field.file = joined(folder, field.file);
  }
  return fields;
}

}  // namespace tare
