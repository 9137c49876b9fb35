#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/base/parallel.hpp"
#include "lib/objects/finish.hpp"
#include "lib/objects/object_changes.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/objects/places.hpp"

namespace tare {
namespace {

/// A crash between the record and the removal of the journal leaves both.
bool is_finished(const ObjectHome& home, const Journal& journal) {
  const std::string path = home.record(record_left_by(journal));
  const auto record = home.read(path);
  return record && record->journal.id == journal.id;
}

void require_trusted(const ObjectHome& home, const Journal& journal, const RecoverOptions& options) {
  if (journal.is_own) return;
  if (!options.trust_journals) {
    throw Error(Status::refused, home.pending() + ": a journal that is not sealed with your key",
                "--trust-journal acts on it, after saying what it writes; whoever may write there can remove it");
  }
  for (const FileRecord& file : journal.files) {
    if (options.announce) options.announce(home.path(file));
  }
}

}  // namespace

std::optional<Pending> recover_in(const ObjectHome& home, const std::string& path, const RecoverOptions& options) {
  const auto left = readable_pending(home);
  if (!left || !touches(home, left->journal, path)) return std::nullopt;
  const Journal& journal = left->journal;
  if (is_finished(home, journal)) {
    clear_up(home, journal);
    return std::nullopt;
  }
  if (left->seen.age < claim_seconds && !options.assume_abandoned) {
    throw Error(Status::busy,
                fmt::format("{}: an edit of {}@{} is at work, or was interrupted {} seconds ago", home.pending(),
                            journal.origin.user, journal.origin.host, left->seen.age),
                fmt::format("what is silent for {} seconds is taken back by the next edit or undo", claim_seconds));
  }
  require_trusted(home, journal, options);
  ObjectClaim claim = ObjectClaim::take_over(home, *left, journal);
  give_up_uploads(home, journal.files);
  std::vector<std::size_t> all(journal.files.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  roll_back(claim, all, options);
  let_go_of_copies(home, journal.files);
  claim.withdraw();
  home.objects().forget();
  return pending_of(home.folder(), journal, PendingState::interrupted);
}

namespace {

std::optional<Pending> pending_in(const ObjectHome& home, const std::string& path) {
  try {
    const auto left = readable_pending(home);
    if (!left || !touches(home, left->journal, path) || is_finished(home, left->journal)) return std::nullopt;
    const bool is_fresh = left->seen.age < claim_seconds;
    return pending_of(home.folder(), left->journal, is_fresh ? PendingState::in_progress : PendingState::interrupted);
  } catch (const Error& error) {
    if (error.status == Status::io) throw;
    return unreadable_pending(home.folder(), error.what());
  }
}

}  // namespace

std::optional<Pending> find_pending(ObjectLayer& objects, const std::string& resolved,
                                    const std::vector<std::string>& read, const JournalKey& key) {
  constexpr std::size_t folders_of_one = 2;  // of a rank: its own, and that of all ranks
  std::vector<std::string> folders{resolved};
  if (read.size() == 1 && read.front() == resolved) {
    folders = folders_above(resolved);
    folders.resize(std::min(folders.size(), folders_of_one));
  }
  std::vector<std::optional<Pending>> found(folders.size());
  for_each_waiting(
      folders.size(), [&](std::size_t i) { found[i] = pending_in(ObjectHome(objects, folders[i], key), resolved); }, {},
      objects.most_at_once());
  const auto first = std::find_if(found.begin(), found.end(), [](const auto& pending) { return pending.has_value(); });
  return first == found.end() ? std::nullopt : *std::move(first);
}

std::optional<Pending> find_pending(ObjectLayer& objects, const JournalPlaces& places, const JournalKey& key) {
  for (const JournalFolder& one : places.folders) {
    if (!may_have_pending(one)) continue;
    if (auto pending = pending_in(ObjectHome(objects, one.folder, key), places.path)) return pending;
  }
  return std::nullopt;
}

std::optional<Pending> find_pending_around(ObjectLayer& objects, const std::string& path, const JournalKey& key) {
  return find_pending(objects, places_around(path), key);
}

std::vector<Pending> all_pending(ObjectLayer& objects, const std::string& path, const JournalKey& key) {
  const std::vector<std::string> folders = folders_with_pending(objects, path);
  std::vector<std::optional<Pending>> found(folders.size());
  for_each_waiting(
      folders.size(), [&](std::size_t i) { found[i] = pending_in(ObjectHome(objects, folders[i], key), path); }, {},
      objects.most_at_once());
  std::vector<Pending> told;
  for (auto& pending : found) {
    if (pending) told.push_back(*std::move(pending));
  }
  return told;
}

std::vector<Pending> recover_around(ObjectLayer& objects, const std::string& path, const JournalKey& key,
                                    const RecoverOptions& options) {
  std::vector<Pending> done;
  for (const std::string& folder : folders_to_look_into(path)) {
    if (auto pending = recover_in(ObjectHome(objects, folder, key), path, options)) done.push_back(*std::move(pending));
  }
  return done;
}

}  // namespace tare
