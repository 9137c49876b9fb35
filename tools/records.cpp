#include "tools/records.hpp"

#include <cerrno>
#include <tuple>

#include "lib/base/error.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/transaction/folder.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"

using namespace tare;

Records records_of(const std::string& path) {
  if (ObjectLayer* const objects = objects_to_change(path)) {
    const JournalKey key = key_for_reading();
    const JournalPlaces places = journal_places(*objects, path);
    return {find_pending(*objects, places, key), [=](const auto& take) { history(*objects, places, key, take); }};
  }
  const Scope scope = scope_for_reading(path);
  return {find_pending(scope), [=](const auto& take) { history(scope, take); }};
}

void require_known(const std::string& path, const Records& records) {
  if (is_url(path) || records.pending || status_of(system_files(), scope_for_reading(path).name())) return;
  bool is_known = false;
  records.tell([&](const HistoryEntry&) { is_known = true; });
  if (!is_known) throw_io(path, ENOENT);
}

bool was_edited_since(const std::string& path, timespec moment) {
  if (is_url(path)) return false;
  const auto is_since = [&](const timespec& changed) {
    return std::tie(changed.tv_sec, changed.tv_nsec) > std::tie(moment.tv_sec, moment.tv_nsec);
  };
  bool was_edited = false;
  history(scope_for_reading(path),
          [&](const HistoryEntry& entry) { was_edited = was_edited || is_since(entry.changed); });
  return was_edited;
}
