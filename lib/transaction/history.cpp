#include "lib/transaction/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <tuple>

#include "lib/base/error.hpp"

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

bool is_older(const Journal& a, const Journal& b) {
  return std::tie(a.edited.tv_sec, a.edited.tv_nsec, a.number) < std::tie(b.edited.tv_sec, b.edited.tv_nsec, b.number);
}

HistoryEntry entry_of(const FoundRecord& found) {
  HistoryEntry entry;
  entry.number = found.record.number;
  entry.folder = found.store.folder();
  entry.when = utc_text(found.journal.edited);
  if (found.record.state == RecordState::undone) {
    entry.state = HistoryState::undone;
    entry.undone_when = utc_text(found.journal.when);
  }
  for (const FileRecord& file : found.journal.files) entry.files.push_back(found.store.target(file));
  entry.fields = absolute_fields(found.store, found.journal);
  return entry;
}

}  // namespace

std::vector<FoundRecord> records_of(const Scope& scope) {
  std::vector<FoundRecord> found;
  for (const Store& store : scope.stores()) {
    for (const StoredRecord record : store.records()) {
      auto journal = readable(store, record);
      if (journal && scope.touches(store, *journal)) found.push_back({store, record, std::move(*journal)});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const FoundRecord& a, const FoundRecord& b) { return is_older(a.journal, b.journal); });
  return found;
}

std::vector<HistoryEntry> history(const Scope& scope) {
  std::vector<HistoryEntry> entries;
  for (const Store& store : scope.stores()) {
    for (const StoredRecord record : store.records()) {
      if (readable(store, record)) continue;
      HistoryEntry damaged;
      damaged.number = record.number;
      damaged.folder = store.folder();
      damaged.state = HistoryState::damaged;
      entries.push_back(std::move(damaged));
    }
  }
  for (const FoundRecord& found : records_of(scope)) entries.push_back(entry_of(found));
  return entries;
}

std::size_t prune(const Scope& scope, RecoverOptions options) {
  options.abandon_foreign_files = true;
  std::size_t removed = 0;
  for (const Store& store : scope.stores()) {
    const Claim held = claim(store, scope, S_IRUSR | S_IWUSR, options);
    for (const StoredRecord record : store.records()) {
      const auto journal = readable(store, record);
      if (journal && !scope.touches(store, *journal)) continue;
      remove_if_there(scope.files(), store.record_path(record));
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

std::vector<FieldEdit> absolute_fields(const Store& store, const Journal& journal) {
  std::vector<FieldEdit> fields = journal.fields;
  for (FieldEdit& field : fields) {
    if (!field.file.empty()) field.file = joined(store.folder(), field.file);
  }
  return fields;
}

}  // namespace tare
