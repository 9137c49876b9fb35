#include "lib/transaction/recover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/transaction/apply.hpp"
#include "lib/transaction/each_file.hpp"
#include "lib/transaction/history.hpp"
#include "lib/transaction/journal_file.hpp"

namespace tare {
namespace {

/// Which of those files something else has written or removed since.
std::vector<std::size_t> foreign_among(const Store& store, const Journal& journal,
                                       const std::vector<std::size_t>& numbers) {
  std::vector<char> is_foreign(numbers.size());
  const auto look = [&](std::size_t i) {
    is_foreign[i] = file_state(store, journal, numbers[i]) == FileState::foreign ? 1 : 0;
  };
  for_each_file(store.files(), numbers.size(), look).rethrow();
  std::vector<std::size_t> foreign;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (is_foreign[i] != 0) foreign.push_back(numbers[i]);
  }
  return foreign;
}

std::vector<std::size_t> all_of(const Journal& journal) {
  std::vector<std::size_t> all(journal.files.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

Pending interrupted(const Store& store, const Journal& journal) {
  Pending pending = pending_of(store.folder(), journal, PendingState::interrupted);
  if (!journal.is_own) return pending;
  try {
    for (const std::size_t number : foreign_among(store, journal, all_of(journal))) {
      pending.foreign.push_back(store.path(journal.files[number]));
    }
  } catch (const Error&) {
    return pending;  // what cannot be looked at now is told by whoever rolls back
  }
  return pending;
}

std::optional<Pending> pending_in(const Store& store, const Scope& scope) {
  const Place place = store.pending();
  const auto regular = is_regular(place);
  if (!regular) return std::nullopt;
  if (!*regular) return unreadable_pending(store.folder(), "it is no regular file");
  const int opened = place.folder.try_open(place.name, O_RDONLY);
  if (opened == -ENOENT) return std::nullopt;
  if (opened == -EACCES) return unreadable_pending(store.folder(), "you may not read it");
  const OpenFile file = adopt(place, opened);
  const bool is_held = store.files().is_locked(file.descriptor()) > 0;
  try {
    const auto journal = read_journal(file, store.key());
    if (!journal || !scope.touches(store, *journal)) return std::nullopt;
    // A maker that finished in between holds no lock any more, and was not interrupted.
    if (!stands_for(place, file)) return std::nullopt;
    return is_held ? pending_of(store.folder(), *journal, PendingState::in_progress) : interrupted(store, *journal);
  } catch (const Error& problem) {
    return unreadable_pending(store.folder(), problem.what());
  }
}

/// Bytes, or what becomes of the whole file, in words.
std::vector<std::string> writes_of(const Store& store, const FileRecord& record) {
  const std::string path = store.path(record);
  if (record.write_method == WriteMethod::rewritten) {
    return {fmt::format("{}: the whole file, of {} bytes, which differ from offset {} on", path, record.size_after,
                        record.swaps[0].offset)};
  }
  std::vector<std::string> lines;
  for (const Swap& swap : record.swaps) {
    if (swap.before != swap.after)
      lines.push_back(fmt::format("{}: {} bytes at offset {}", path, swap.after.size(), swap.offset));
  }
  if (record.size_after != record.size_before) {
    lines.push_back(fmt::format("{}: {} bytes become {}", path, record.size_before, record.size_after));
  }
  return lines;
}

RecoverOptions without_trust(RecoverOptions options) {
  options.trust_journals = false;
  return options;
}

/// Rolls the journal back, or leaves its files as they are where it is to be forgotten.
Pending ended(const Store& store, const Journal& journal, const RecoverOptions& options) {
  Pending done = interrupted(store, journal);
  const bool is_forgotten = !journal.is_own && !options.trust_journals && options.forget_untrusted;
  if (is_forgotten) return done;
  require_trusted(store, journal, store.pending().path(), true, options);
  roll_back(store, journal, all_of(journal), options);
  return done;
}

/// What a maker left: a journal, nothing where it was never complete, or what nobody can read.
struct Left {
  std::optional<Journal> journal;
  std::string problem;
};

Left left_by(const Claim& held, const RecoverOptions& options) {
  try {
    return {held.read(), {}};
  } catch (const Error& error) {
    if (!options.forget_untrusted) throw;
    return {std::nullopt, error.what()};
  }
}

/// Of whatever files, or only where it concerns the scope.
std::optional<Pending> recover(const Store& store, const Scope* scope, const RecoverOptions& options) {
  const auto held = Claim::adopt(store, options.assume_abandoned);
  if (!held) return std::nullopt;
  const auto [journal, problem] = left_by(*held, options);
  if (journal && scope != nullptr && !scope->touches(store, *journal)) return std::nullopt;
  std::optional<Pending> done;
  if (journal) done = ended(store, *journal, options);
  if (!problem.empty()) done = unreadable_pending(store.folder(), problem);
  store.sweep();
  held->withdraw();
  return done;
}

}  // namespace

Pending pending_of(const std::string& folder, const Journal& journal, PendingState state) {
  Pending pending;
  pending.state = state;
  pending.is_own = journal.is_own;
  pending.folder = folder;
  pending.kind = journal.kind;
  pending.number = journal.number;
  pending.id = journal.id;
  pending.origin = journal.origin;
  pending.when = utc_text(journal.when);
  for (const FileRecord& record : journal.files) pending.files.push_back(joined(folder, record.name));
  pending.fields = absolute_fields(folder, journal);
  if (journal.kind == JournalKind::undo) {
    for (FieldEdit& field : pending.fields) std::swap(field.before, field.after);
  }
  return pending;
}

Pending unreadable_pending(const std::string& folder, std::string problem) {
  Pending unknown;
  unknown.state = PendingState::unreadable;
  unknown.folder = folder;
  unknown.problem = std::move(problem);
  return unknown;
}

Concern concern_of_pending(const Store& store, const Scope& scope) {
  const Place place = store.pending();
  try {
    if (!is_regular(place).value_or(false)) return Concern::unknown;
    const int opened = place.folder.try_open(place.name, O_RDONLY);
    if (opened < 0) return Concern::unknown;
    const auto journal = read_journal(adopt(place, opened), store.key());
    if (!journal) return Concern::unknown;
    return scope.touches(store, *journal) ? Concern::scope : Concern::others;
  } catch (const Error&) {
    return Concern::unknown;
  }
}

std::optional<Pending> find_pending(const Scope& scope) {
  std::optional<Pending> others;
  for (const std::string& folder : scope.folders()) {
    const auto store = scope.store_in(folder);
    auto pending = store ? pending_in(*store, scope) : std::nullopt;
    if (pending && pending->is_own) return pending;
    if (pending && !others) others = std::move(pending);
  }
  return others;
}

std::vector<Pending> all_pending(const Scope& scope) {
  std::vector<Pending> all;
  for (const std::string& folder : scope.folders()) {
    const auto store = scope.store_in(folder);
    if (auto pending = store ? pending_in(*store, scope) : std::nullopt) all.push_back(*std::move(pending));
  }
  return all;
}

void require_trusted(const Store& store, const Journal& journal, const std::string& path, bool writes_old,
                     const RecoverOptions& options) {
  if (journal.is_own) return;
  if (!options.trust_journals) {
    throw Error(
        Status::refused, path + ": this journal is not sealed with your key: it may have come with a download",
        "`tare history` shows what it says, --trust-journal does it, after saying what it writes; `tare history "
        "--prune` forgets it and leaves the files as they are");
  }
  if (!options.announce) return;
  for (const FileRecord& record : journal.files) {
    for (const std::string& line : writes_of(store, writes_old ? inverse(record) : record)) options.announce(line);
  }
}

void roll_back(const Store& store, const Journal& journal, const std::vector<std::size_t>& numbers,
               const RecoverOptions& options) {
  const std::vector<std::size_t> foreign = foreign_among(store, journal, numbers);
  if (!foreign.empty() && !options.abandon_foreign_files) {
    throw Error(Status::refused,
                store.path(journal.files[foreign.front()]) +
                    ": an edit of it was interrupted, and something else has written or removed it since",
                "`tare history --prune` leaves this file as it is and ends the interrupted edit");
  }
  std::vector<std::size_t> ours = numbers;
  std::erase_if(ours, [&](std::size_t number) { return std::ranges::binary_search(foreign, number); });
  const auto bring_back = [&](std::size_t number) { roll_back_file(store, journal, number, options.allow_hard_links); };
  for_each_in_turn(store, journal, ours, Direction::back, bring_back).rethrow();
}

std::vector<Pending> recover(const Scope& scope, const RecoverOptions& options) {
  std::vector<Pending> all;
  for (const std::string& folder : scope.folders()) {
    const auto store = scope.store_in(folder);
    if (!store) continue;
    if (auto rolled_back = recover(*store, scope, options)) all.push_back(std::move(*rolled_back));
  }
  return all;
}

std::optional<Pending> recover(const Store& store, const Scope& scope, const RecoverOptions& options) {
  // Those of others may be in folders that this user may only read.
  if (concern_of_pending(store, scope) == Concern::others) return std::nullopt;
  return recover(store, &scope, scope.encloses(store.folder()) ? options : without_trust(options));
}

Claim claim(const Folder& home, const Scope& scope, mode_t mode, const RecoverOptions& options) {
  for (int attempt = 0; attempt < claim_attempts; ++attempt) {
    auto held = Claim::create(home, scope.key(), mode);
    if (!held) {
      if (const auto store = Store::find(home, scope.key())) recover(*store, nullptr, options);
      continue;
    }
    // Ours is visible now. Of two editors whose folders differ but whose files overlap, at least one sees the other.
    try {
      for (const std::string& folder : scope.folders()) {
        const auto other = folder == home.path() ? std::nullopt : scope.store_in(folder);
        if (other && concern_of_pending(*other, scope) != Concern::others) {
          recover(*other, &scope, without_trust(options));
        }
      }
      held->store().sweep();
    } catch (...) {
      held->withdraw();
      throw;
    }
    return std::move(*held);
  }
  throw Error(Status::busy, home.path() + ": other tares are editing here", "wait until they are done");
}

}  // namespace tare
