#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/objects/finish.hpp"
#include "lib/objects/object_changes.hpp"
#include "lib/objects/object_claim.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/objects/places.hpp"

namespace tare {
namespace {

/// Without their files: of thousands of edits one is told at a time.
struct Kept {
  ObjectHome home;
  StoredRecord record;
  bool is_own = false;
  timespec edited{};
  std::string id;
};

bool is_older(const Kept& a, const Kept& b) {
  if (a.home.folder() == b.home.folder() && a.is_own && b.is_own) return a.record.number < b.record.number;
  return std::tie(a.edited.tv_sec, a.edited.tv_nsec, a.id) < std::tie(b.edited.tv_sec, b.edited.tv_nsec, b.id);
}

/// Nothing where it is damaged or gone.
std::optional<Journal> journal_at(const ObjectHome& home, StoredRecord record) {
  try {
    auto stored = home.read(home.record(record));
    if (!stored) return std::nullopt;
    return std::move(stored->journal);
  } catch (const Error& error) {
    if (error.status == Status::io) throw;
    return std::nullopt;
  }
}

/// Calls `take` with every record that concerns `path`, and with those that nobody can read.
void for_each_record(ObjectLayer& objects, const JournalPlaces& places, const JournalKey& key,
                     const std::function<void(const ObjectHome&, StoredRecord, const Journal*)>& take) {
  for_each_home(objects, places, key, [&](const ObjectHome& home, std::span<const StoredRecord> records) {
    for (const StoredRecord record : records) {
      const auto journal = journal_at(home, record);
      if (journal && !touches(home, *journal, places.path)) continue;
      take(home, record, journal ? &*journal : nullptr);
    }
  });
}

[[noreturn]] void throw_fresh(const ObjectHome& home, std::int64_t age) {
  throw Error(Status::busy, fmt::format("{}: was written {} seconds ago: an edit may be at work", home.pending(), age),
              fmt::format("what is silent for {} seconds can be forgotten", claim_seconds));
}

/// A journal that is nobody's who is trusted, or none at all where the user named the folder, or one that it is in:
/// what it names stays as it is.
std::optional<Pending> forget_stranger(const ObjectHome& home, const std::string& path) {
  Pending forgotten;
  try {
    const auto left = readable_pending(home);
    if (!left || left->journal.is_own || !touches(home, left->journal, path)) return std::nullopt;
    forgotten = pending_of(home.folder(), left->journal, PendingState::interrupted);
  } catch (const Error& error) {
    if (error.status == Status::io) throw;
    if (!is_within(home, path)) return std::nullopt;
    forgotten = unreadable_pending(home.folder(), error.what());
  }
  const auto seen = home.objects().look(home.pending());
  if (!seen) return std::nullopt;
  if (seen->age < claim_seconds) throw_fresh(home, seen->age);
  home.objects().remove(home.pending());
  return forgotten;
}

std::optional<Pending> ended_in(const ObjectHome& home, const std::string& path, const RecoverOptions& options) {
  if (!options.trust_journals) {
    if (auto forgotten = forget_stranger(home, path)) return forgotten;
  }
  return recover_in(home, path, options);
}

}  // namespace

void history(ObjectLayer& objects, const JournalPlaces& places, const JournalKey& key,
             const std::function<void(const HistoryEntry&)>& take) {
  std::vector<Kept> all;
  for_each_record(objects, places, key, [&](const ObjectHome& home, StoredRecord record, const Journal* journal) {
    if (journal == nullptr) return take(history_entry(home.folder(), record, nullptr));
    all.push_back({home, record, journal->is_own, journal->edited, journal->id});
  });
  std::stable_sort(all.begin(), all.end(), is_older);
  for (const Kept& kept : all) {
    const auto journal = journal_at(kept.home, kept.record);
    if (journal && journal->id == kept.id) take(history_entry(kept.home.folder(), kept.record, &*journal));
  }
}

Pruned prune(ObjectLayer& objects, const std::string& path, const JournalKey& key, RecoverOptions options) {
  options.abandon_foreign_files = true;
  Pruned pruned;
  JournalPlaces places = journal_places(objects, path);
  std::erase_if(places.folders, [&](JournalFolder& one) {
    if (!may_have_pending(one)) return false;
    try {
      if (auto ended = ended_in(ObjectHome(objects, one.folder, key), path, options)) {
        pruned.ended.push_back(*std::move(ended));
      }
      one.names.reset();  // what ends may take a record with it
      return false;
    } catch (const Error& error) {
      if (error.status != Status::busy) throw;
      if (!pruned.busy) pruned.busy = error;
      return true;
    }
  });
  for_each_record(objects, places, key, [&](const ObjectHome& home, StoredRecord record, const Journal* journal) {
    if (journal == nullptr && !is_within(home, path)) return;
    if (journal != nullptr && journal->is_own) let_go_of_copies(home, journal->files);
    objects.remove(home.record(record));
    ++pruned.records;
  });
  return pruned;
}

}  // namespace tare
