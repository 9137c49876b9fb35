#include "lib/transaction/recover.hpp"

#include <cerrno>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/transaction/apply.hpp"
#include "lib/transaction/each_file.hpp"
#include "lib/transaction/history.hpp"

namespace tare {
namespace {

constexpr int attempts = 16;  // claims lost to others that finished in between

Pending described(const Store& store, const Journal& journal, PendingState state) {
  Pending pending;
  pending.state = state;
  pending.folder = store.folder();
  pending.kind = journal.kind;
  pending.number = journal.number;
  pending.when = utc_text(journal.when);
  for (const FileRecord& record : journal.files) pending.files.push_back(store.target(record));
  pending.fields = absolute_fields(store, journal);
  return pending;
}

std::optional<Pending> pending_in(const Store& store, const Scope& scope) {
  const int opened = store.files().open(store.pending_path(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (opened == -ENOENT) return std::nullopt;
  if (opened == -EACCES) {
    Pending unknown;
    unknown.state = PendingState::unreadable;
    unknown.folder = store.folder();
    return unknown;
  }
  const OpenFile file = OpenFile::adopt(store.files(), store.pending_path(), opened);
  const bool is_held = store.files().is_locked(file.descriptor()) > 0;
  const auto journal = decoded(read_whole(file), file.path());
  if (!journal || !scope.touches(store, *journal)) return std::nullopt;
  return described(store, *journal, is_held ? PendingState::in_progress : PendingState::interrupted);
}

}  // namespace

std::optional<Pending> find_pending(const Scope& scope) {
  for (const Store& store : scope.stores()) {
    if (auto pending = pending_in(store, scope)) return pending;
  }
  return std::nullopt;
}

void roll_back(const Store& store, const Journal& journal, const std::vector<std::size_t>& numbers,
               const RecoverOptions& options) {
  std::vector<char> is_foreign(numbers.size());
  const auto look = [&](std::size_t i) {
    is_foreign[i] = stand_of(store, journal, numbers[i]) == Stand::foreign ? 1 : 0;
  };
  for_each_file(store.files(), numbers.size(), look).rethrow();
  std::vector<std::size_t> ours;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (is_foreign[i] == 0) {
      ours.push_back(numbers[i]);
    } else if (!options.abandon_foreign_files) {
      throw Error(Status::refused,
                  store.target(journal.files[numbers[i]]) +
                      ": an edit of it was interrupted, and something else has written or removed it since",
                  "`tare history --prune` leaves this file as it is and ends the interrupted edit");
    }
  }
  const auto bring_back = [&](std::size_t number) { roll_back_file(store, journal, number); };
  for_each_in_turn(store, journal, ours, Direction::back, bring_back).rethrow();
}

std::optional<Pending> recover(const Store& store, const RecoverOptions& options) {
  const auto held = Claim::adopt(store, options.assume_abandoned);
  if (!held) return std::nullopt;
  const auto journal = decoded(held->read(), store.pending_path());
  std::optional<Pending> rolled_back;
  if (journal) {
    std::vector<std::size_t> all(journal->files.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    roll_back(store, *journal, all, options);
    rolled_back = described(store, *journal, PendingState::interrupted);
  }
  store.sweep();
  held->withdraw();
  return rolled_back;
}

std::vector<Pending> recover(const Scope& scope, const RecoverOptions& options) {
  std::vector<Pending> all;
  for (const Store& store : scope.stores()) {
    if (auto rolled_back = recover(store, options)) all.push_back(std::move(*rolled_back));
  }
  return all;
}

Claim claim(const Store& store, const Scope& scope, mode_t mode, const RecoverOptions& options) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    auto held = Claim::create(store, mode);
    if (!held) {
      recover(store, options);
      continue;
    }
    // Ours is visible now. Of two editors whose folders differ but whose files overlap, at least one sees the other.
    try {
      for (const Store& other : scope.stores()) {
        if (other.folder() != store.folder()) recover(other, options);
      }
      store.sweep();
    } catch (...) {
      held->withdraw();
      throw;
    }
    return std::move(*held);
  }
  throw Error(Status::busy, store.folder() + ": other tares are editing here", "wait until they are done");
}

}  // namespace tare
