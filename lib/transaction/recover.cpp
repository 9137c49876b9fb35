#include "lib/transaction/recover.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/transaction/apply.hpp"
#include "lib/transaction/each_file.hpp"
#include "lib/transaction/history.hpp"
#include "lib/transaction/journal_file.hpp"

namespace tare {
namespace {

Pending described(const Store& store, const Journal& journal, PendingState state) {
  Pending pending;
  pending.state = state;
  pending.is_own = journal.is_own;
  pending.folder = store.folder();
  pending.kind = journal.kind;
  pending.number = journal.number;
  pending.id = journal.id;
  pending.origin = journal.origin;
  pending.when = utc_text(journal.when);
  for (const FileRecord& record : journal.files) pending.files.push_back(store.path(record));
  pending.fields = absolute_fields(store.folder(), journal);
  return pending;
}

Pending unreadable(const Store& store, std::string problem) {
  Pending unknown;
  unknown.state = PendingState::unreadable;
  unknown.folder = store.folder();
  unknown.problem = std::move(problem);
  return unknown;
}

std::optional<Pending> pending_in(const Store& store, const Scope& scope) {
  const Place place = store.pending();
  const auto regular = is_regular(place);
  if (!regular) return std::nullopt;
  if (!*regular) return unreadable(store, "it is no regular file");
  const int opened = place.folder.try_open(place.name, O_RDONLY);
  if (opened == -ENOENT) return std::nullopt;
  if (opened == -EACCES) return unreadable(store, "you may not read it");
  const OpenFile file = adopt(place, opened);
  const bool is_held = store.files().is_locked(file.descriptor()) > 0;
  try {
    const auto journal = read_journal(file, store.key());
    if (!journal || !scope.touches(store, *journal)) return std::nullopt;
    // A maker that finished in between holds no lock any more, and was not interrupted.
    if (!stands_for(place, file)) return std::nullopt;
    return described(store, *journal, is_held ? PendingState::in_progress : PendingState::interrupted);
  } catch (const Error& problem) {
    return unreadable(store, problem.what());
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

/// Whose maker is gone, and whose journal may be acted upon. Nothing where it was never complete, or is to be
/// forgotten.
std::optional<Journal> journal_to_roll_back(const Claim& held, const RecoverOptions& options) {
  try {
    auto journal = held.read();
    const bool is_trusted = journal && (journal->is_own || options.trust_journals);
    if (journal && !is_trusted && options.forget_untrusted) return std::nullopt;
    return journal;
  } catch (const Error&) {
    if (options.forget_untrusted) return std::nullopt;
    throw;
  }
}

RecoverOptions without_trust(RecoverOptions options) {
  options.trust_journals = false;
  return options;
}

std::optional<Pending> recover(const Store& store, const Scope* scope, const RecoverOptions& options) {
  const auto held = Claim::adopt(store, options.assume_abandoned);
  if (!held) return std::nullopt;
  const auto journal = journal_to_roll_back(*held, options);
  if (journal && scope != nullptr && !scope->touches(store, *journal)) return std::nullopt;
  std::optional<Pending> rolled_back;
  if (journal) {
    require_trusted(store, *journal, store.pending().path(), true, options);
    std::vector<std::size_t> all(journal->files.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    roll_back(store, *journal, all, options);
    rolled_back = described(store, *journal, PendingState::interrupted);
  }
  store.sweep();
  held->withdraw();
  return rolled_back;
}

}  // namespace

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
  std::vector<char> is_foreign(numbers.size());
  const auto look = [&](std::size_t i) {
    is_foreign[i] = file_state(store, journal, numbers[i]) == FileState::foreign ? 1 : 0;
  };
  for_each_file(store.files(), numbers.size(), look).rethrow();
  std::vector<std::size_t> ours;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (is_foreign[i] == 0) {
      ours.push_back(numbers[i]);
    } else if (!options.abandon_foreign_files) {
      throw Error(Status::refused,
                  store.path(journal.files[numbers[i]]) +
                      ": an edit of it was interrupted, and something else has written or removed it since",
                  "`tare history --prune` leaves this file as it is and ends the interrupted edit");
    }
  }
  const auto bring_back = [&](std::size_t number) { roll_back_file(store, journal, number, options.allow_hard_links); };
  for_each_in_turn(store, journal, ours, Direction::back, bring_back).rethrow();
}

std::optional<Pending> recover(const Store& store, const RecoverOptions& options) {
  return recover(store, nullptr, options);
}

std::vector<Pending> recover(const Scope& scope, const RecoverOptions& options) {
  std::vector<Pending> all;
  for (const std::string& folder : scope.folders()) {
    const auto store = scope.store_in(folder);
    if (!store) continue;
    const bool is_named = scope.encloses(folder);
    if (auto rolled_back = recover(*store, &scope, is_named ? options : without_trust(options)))
      all.push_back(std::move(*rolled_back));
  }
  return all;
}

Claim claim(const Folder& home, const Scope& scope, mode_t mode, const RecoverOptions& options) {
  for (int attempt = 0; attempt < claim_attempts; ++attempt) {
    auto held = Claim::create(home, scope.key(), mode);
    if (!held) {
      if (const auto store = Store::find(home, scope.key())) recover(*store, options);
      continue;
    }
    // Ours is visible now. Of two editors whose folders differ but whose files overlap, at least one sees the other.
    try {
      for (const std::string& folder : scope.folders()) {
        const auto other = folder == home.path() ? std::nullopt : scope.store_in(folder);
        if (other) recover(*other, &scope, without_trust(options));
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
