#include "lib/objects/finish.hpp"

#include <algorithm>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/parallel.hpp"
#include "lib/objects/object_changes.hpp"
#include "lib/objects/places.hpp"

namespace tare {
namespace {

[[noreturn]] void throw_busy(const std::string& pending) {
  throw Error(Status::busy, pending + ": another edit is at work, or was interrupted within the last minute",
              "wait for it");
}

/// Whoever came later sees the claim of whoever came first: each makes its own before it looks.
void require_alone(const ObjectHome& home, const std::vector<FileRecord>& files) {
  const auto folders = folders_around(home, files);
  std::set<std::string> paths;
  for (const FileRecord& file : files) paths.insert(home.path(file));
  for_each_parallel(
      folders.size(),
      [&](std::size_t i) {
        const ObjectHome other(home.objects(), folders[i], home.key());
        const auto found = readable_pending(other);
        if (!found) return;
        const auto& theirs = found->journal.files;
        const bool is_ours = std::any_of(theirs.begin(), theirs.end(),
                                         [&](const FileRecord& file) { return paths.contains(other.path(file)); });
        if (is_ours) throw_busy(other.pending());
      },
      {}, home.objects().most_at_once());
}

ObjectClaim claimed(const ObjectHome& home, const Journal& journal) {
  auto claim = ObjectClaim::create(home, journal);
  if (!claim) throw_busy(home.pending());
  try {
    require_alone(home, journal.files);
  } catch (...) {
    claim->withdraw();
    throw;
  }
  return *std::move(claim);
}

/// REQUIRES: all objects are new, and the claim was just confirmed.
void leave_record(ObjectClaim& claim, const std::vector<ObjectSeen>& made, StoredRecord record) {
  Journal journal = claim.journal();
  for (std::size_t i = 0; i < made.size(); ++i) {
    ObjectVersions versions = versions_of(journal.files[i]);
    versions.tag_after = made[i].tag;
    versions.kept_after = made[i].kept;
    versions.upload.clear();
    set_versions(journal.files[i], std::move(versions));
  }
  const ObjectHome& home = claim.home();
  const Bytes bytes = home.encoded(journal);
  if (home.objects().create(home.record(record), bytes)) return;
  const auto there = home.read(home.record(record));
  if (there && there->journal.id == journal.id) return;  // the answer to the first attempt was lost
  std::vector<std::size_t> all(made.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  roll_back(claim, all, {});
  let_go_of_copies(home, journal.files);
  claim.withdraw();
  throw Error(Status::busy, home.record(record) + ": somebody else wrote this record meanwhile", "try again");
}

}  // namespace

StoredRecord record_left_by(const Journal& journal) {
  return {journal.number, journal.kind == JournalKind::undo ? RecordState::undone : RecordState::applied};
}

std::vector<std::string> folders_around(const ObjectHome& home, const std::vector<FileRecord>& files) {
  std::vector<std::string> folders;
  for (const FileRecord& file : files) {
    for (std::string& folder : folders_above(home.path(file))) {
      if (folder != home.folder()) folders.push_back(std::move(folder));
    }
  }
  const auto is_deeper = [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  };
  std::sort(folders.begin(), folders.end(), is_deeper);
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders;
}

void clear_up(const ObjectHome& home, const Journal& journal) {
  if (journal.kind == JournalKind::undo) {
    home.objects().remove(home.record({journal.number, RecordState::applied}));
    let_go_of_copies_brought_back(home, journal.files);
  }
  home.objects().remove(home.pending());
}

void run(const ObjectHome& home, Journal journal, const std::vector<ObjectSeen>& seen,
         std::optional<StoredRecord> record) {
  std::optional<ObjectClaim> claim;
  try {
    begin_uploads(home, journal.files, seen);
    claim.emplace(claimed(home, journal));
  } catch (...) {
    drop_uploads(home, journal.files);
    throw;
  }
  const auto made = apply(*claim, seen);
  if (record) {
    leave_record(*claim, made, *record);
  } else {
    let_go_of_copies(home, journal.files);
  }
  clear_up(home, journal);
}

}  // namespace tare
