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

/// Much is kept of every record of a run, and little of it is asked for.
Journal without_bytes(Journal journal) {
  for (FileRecord& file : journal.files) {
    file.swaps = {};
    file.tail = {};
  }
  return journal;
}

/// The journal of a record, or nothing where it is damaged or gone.
std::optional<Journal> readable(const Store& store, StoredRecord record) {
  try {
    return without_bytes(store.read(record));
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
    kept_ += bytes;
    return kept_ <= limits::max_foreign_journal_bytes;
  }

 private:
  std::uint64_t kept_ = 0;
};

void for_each_record(const Scope& scope,
                     const std::function<void(const Store&, StoredRecord, std::optional<Journal>)>& take) {
  ForeignBudget budget;
  for (const std::string& folder : scope.folders()) {
    const auto store = scope.store_in(folder);
    if (!store) continue;
    for (const StoredRecord record : store->records()) {
      auto journal = readable(*store, record);
      if (journal && !scope.touches(*store, *journal)) continue;
      if (journal && !budget.allows(*journal)) journal.reset();
      take(*store, record, std::move(journal));
    }
  }
}

/// Within one folder the numbers of this user's edits tell what came last, whatever the clock did.
bool is_older(const FoundRecord& a, const FoundRecord& b) {
  if (a.folder == b.folder && a.journal.is_own && b.journal.is_own) return a.record.number < b.record.number;
  return std::tie(a.journal.edited.tv_sec, a.journal.edited.tv_nsec, a.journal.id) <
         std::tie(b.journal.edited.tv_sec, b.journal.edited.tv_nsec, b.journal.id);
}

HistoryEntry entry_of(const FoundRecord& found) {
  HistoryEntry entry;
  entry.number = found.record.number;
  entry.id = found.journal.id;
  entry.is_own = found.journal.is_own;
  entry.origin = found.journal.origin;
  entry.folder = found.folder;
  entry.when = utc_text(found.journal.edited);
  if (found.record.state == RecordState::undone) {
    entry.state = HistoryState::undone;
    entry.undone_when = utc_text(found.journal.when);
  }
  for (const FileRecord& file : found.journal.files) entry.files.push_back(joined(found.folder, file.name));
  entry.fields = absolute_fields(found.folder, found.journal);
  return entry;
}

}  // namespace

std::vector<FoundRecord> records_of(const Scope& scope) {
  std::vector<FoundRecord> found;
  for_each_record(scope, [&](const Store& store, StoredRecord record, std::optional<Journal> journal) {
    if (journal) found.push_back({store.folder(), record, std::move(*journal)});
  });
  std::stable_sort(found.begin(), found.end(), is_older);
  return found;
}

std::optional<Finding> foreign_records(const Scope& scope) {
  std::size_t count = 0;
  std::string folder;
  for_each_record(scope, [&](const Store& store, StoredRecord, const std::optional<Journal>& journal) {
    if (journal && journal->is_own) return;
    folder = store.folder();
    ++count;
  });
  if (count == 0) return std::nullopt;
  return Finding{Severity::note,
                 "foreign-record",
                 fmt::format("{} record{} of edits in {}/.tare {} not sealed with your key: undo passes {} over", count,
                             count == 1 ? "" : "s", folder, count == 1 ? "is" : "are", count == 1 ? "it" : "them"),
                 folder,
                 {}};
}

std::vector<HistoryEntry> history(const Scope& scope) {
  std::vector<HistoryEntry> entries;
  for_each_record(scope, [&](const Store& store, StoredRecord record, const std::optional<Journal>& journal) {
    if (journal) return;
    HistoryEntry damaged;
    damaged.number = record.number;
    damaged.folder = store.folder();
    damaged.state = HistoryState::damaged;
    entries.push_back(std::move(damaged));
  });
  for (const FoundRecord& found : records_of(scope)) entries.push_back(entry_of(found));
  return entries;
}

std::size_t prune(const Scope& scope, RecoverOptions options) {
  options.abandon_foreign_files = true;
  options.forget_untrusted = !options.trust_journals;
  std::size_t removed = 0;
  for (const std::string& folder : scope.folders()) {
    const auto store = scope.store_in(folder);
    if (!store) continue;
    const Claim held = claim(store->home(), scope, S_IRUSR | S_IWUSR, options);
    for (const StoredRecord record : held.store().records()) {
      const auto journal = readable(held.store(), record);
      if (journal && !scope.touches(held.store(), *journal)) continue;
      const Place place = held.store().record_place(record);
      place.folder.remove_if_there(place.name);
      ++removed;
    }
    held.withdraw();
  }
  return removed;
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
