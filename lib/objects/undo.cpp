#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <tuple>

#include "lib/base/error.hpp"
#include "lib/base/parallel.hpp"
#include "lib/objects/finish.hpp"
#include "lib/objects/object_changes.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/objects/places.hpp"
#include "lib/objects/planned_objects.hpp"

namespace tare {
namespace {

struct Found {
  ObjectHome home;
  StoredRecord record;
  Journal journal;
};

bool is_newer(const Journal& a, const Journal& b) {
  return std::tie(a.edited.tv_sec, a.edited.tv_nsec) > std::tie(b.edited.tv_sec, b.edited.tv_nsec);
}

/// What undo would take back, and whether one was passed over.
struct Last {
  std::optional<Found> found;
  bool has_untrusted = false;
};

void look_into(const ObjectHome& home, std::span<const StoredRecord> records, const std::string& path,
               const UndoOptions& options, Last& last) {
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (record->state != RecordState::applied) continue;
    auto stored = home.read(home.record(*record));
    if (!stored || !touches(home, stored->journal, path)) continue;
    if (!options.id.empty() && stored->journal.id != options.id) continue;
    if (!stored->journal.is_own && !options.recovery.trust_journals) {
      last.has_untrusted = true;
      continue;
    }
    if (!last.found || is_newer(stored->journal, last.found->journal)) {
      last.found.emplace(Found{home, *record, std::move(stored->journal)});
    }
    return;  // all that come before it are older
  }
}

Found record_to_undo(ObjectLayer& objects, const JournalPlaces& places, const JournalKey& key,
                     const UndoOptions& options) {
  const std::string& path = places.path;
  Last last;
  for_each_home(objects, places, key, [&](const ObjectHome& home, std::span<const StoredRecord> records) {
    look_into(home, records, path, options, last);
  });
  if (last.found) return *std::move(last.found);
  const std::string what = options.id.empty() ? "nothing" : "no edit " + options.id;
  throw Error(Status::refused,
              fmt::format("{}: {} to undo{}", path, what, last.has_untrusted ? " that is sealed with your key" : ""),
              last.has_untrusted ? "--trust-journal undoes what others did, after saying what it writes"
                                 : "only what this object, or this folder, was edited as is undone");
}

FileRecord way_back(const ObjectHome& home, const FileRecord& edit, const ObjectSeen& seen) {
  const bool is_as_made = seen.tag == versions_of(edit).tag_after || object_state(home, edit, seen) == FileState::after;
  if (!is_as_made) {
    throw Error(Status::refused, home.path(edit) + ": is no longer what that edit made of it",
                "it was changed since: undo later edits of it first, or leave it as it is");
  }
  require_nothing_lost(home.path(edit), seen);
  FileRecord back = inverse(edit);
  ObjectVersions versions = versions_before(seen);
  versions.kept_after = versions_of(edit).kept_before;
  set_versions(back, std::move(versions));
  return back;
}

std::vector<ObjectSeen> turn_back(const ObjectHome& home, Journal& journal) {
  std::vector<ObjectSeen> seen(journal.files.size());
  const auto turn = [&](std::size_t i) {
    const auto now = home.objects().look(home.path(journal.files[i]));
    if (!now) throw Error(Status::refused, home.path(journal.files[i]) + ": is gone", "");
    seen[i] = *now;
    journal.files[i] = way_back(home, journal.files[i], seen[i]);
  };
  for_each_parallel(seen.size(), turn, {}, home.objects().most_at_once());
  journal.kind = JournalKind::undo;
  ::clock_gettime(CLOCK_REALTIME, &journal.when);
  return seen;
}

/// What others left in a folder below, and what is no journal, is theirs to end.
bool is_of_others(const ObjectHome& home, const RecoverOptions& options) {
  try {
    const auto left = readable_pending(home);
    return left && !left->journal.is_own && !options.trust_journals;
  } catch (const Error& error) {
    if (error.status == Status::io) throw;
    return true;
  }
}

/// Whether what is pending there is the edit of that id.
bool is_of(const ObjectHome& home, const std::string& id) {
  try {
    const auto left = readable_pending(home);
    return left && left->journal.id == id;
  } catch (const Error& error) {
    if (error.status == Status::io) throw;
    return false;
  }
}

/// The first that is found, or that of the id: whoever undoes once more takes back the next.
std::optional<Pending> recover_first(ObjectLayer& objects, const JournalPlaces& places, const JournalKey& key,
                                     const UndoOptions& wanted) {
  const RecoverOptions& options = wanted.recovery;
  for (const JournalFolder& one : places.folders) {
    if (!may_have_pending(one)) continue;
    const ObjectHome home(objects, one.folder, key);
    const bool is_below = is_within(home, places.path) && one.folder != places.folders.front().folder;
    if (is_below && is_of_others(home, options)) continue;
    if (!wanted.id.empty() && !is_of(home, wanted.id)) continue;
    if (auto done = recover_in(home, places.path, options)) return done;
  }
  return std::nullopt;
}

}  // namespace

UndoResult undo(ObjectLayer& objects, const std::string& path, const JournalKey& key, const UndoOptions& options) {
  const JournalPlaces places = journal_places(objects, path);
  if (auto interrupted = recover_first(objects, places, key, options)) {
    return rolled_back(*std::move(interrupted));
  }
  Found found = record_to_undo(objects, places, key, options);
  const auto place = std::ranges::find(places.folders, found.home.folder(), &JournalFolder::folder);
  std::vector<Finding> findings;
  if (may_have_pending(*place)) {  // of others, or of another id: it is in the way of this one
    auto interrupted = recover_in(found.home, path, options.recovery);
    if (interrupted && options.id.empty()) return rolled_back(*std::move(interrupted));
    if (interrupted) findings.push_back(rolled_back_first(*interrupted));
  }
  const std::vector<FileRecord> edited = found.journal.files;
  if (!found.journal.is_own && options.recovery.announce) {
    for (const FileRecord& file : edited) options.recovery.announce(found.home.path(file));
  }
  const auto seen = turn_back(found.home, found.journal);
  UndoResult result = undone(found.home.folder(), found.journal);
  result.findings = std::move(findings);
  std::ranges::move(unseen_losses(found.home, found.journal.files), std::back_inserter(result.findings));
  run(found.home, std::move(found.journal), seen, StoredRecord{found.record.number, RecordState::undone});
  objects.forget();
  return result;
}

}  // namespace tare
