#include "lib/transaction/run_journal.hpp"

#include <exception>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/transaction/apply.hpp"
#include "lib/transaction/each_file.hpp"
#include "lib/transaction/recover.hpp"

namespace tare {
namespace {

/// A file that somebody else wrote before we came to it is refused untouched, and stays as it is.
bool was_refused_untouched(const Store& store, const Journal& journal, std::size_t index,
                           const std::exception_ptr& failure) {
  if (!failure) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.status == Status::refused && file_state(store, journal, index) == FileState::foreign;
  } catch (...) {
    return false;
  }
}

/// Files that were not begun are not looked at.
void take_back(const Claim& claim, const Journal& journal, const FileOutcomes& applied, const std::exception& problem) {
  const Store& store = claim.store();
  try {
    std::vector<std::size_t> touched;
    for (std::size_t index = 0; index < applied.begun.size(); ++index) {
      if (applied.begun[index] == 0) continue;
      if (!was_refused_untouched(store, journal, index, applied.failures[index])) touched.push_back(index);
    }
    // What has several names was let through when the transaction began.
    RecoverOptions options;
    options.allow_hard_links = true;
    roll_back(store, journal, touched, options);
    claim.withdraw();
  } catch (const Error& second) {
    throw Error(Status::io, std::string(problem.what()) + "; rolling back was stopped as well: " + second.what(),
                "mend the cause, then `tare undo` brings the old state back", second.detail);
  }
}

std::vector<Finding> settle(const Claim& claim) {
  try {
    claim.settle();
    return {};
  } catch (const std::exception& problem) {
    return {{Severity::warning, "not-durable",
             std::string(problem.what()) + "; the change is made, but a power failure could take it back",
             claim.store().folder(), ""}};
  }
}

/// What cannot be removed now does no harm: the next transaction sweeps it away.
void tidy_up(const Claim& claim, const Journal& journal, bool keeps_history) {
  try {
    remove_parts(claim.store(), journal);
    if (!keeps_history) claim.store().remove_if_empty();
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace

std::vector<Finding> run_journal(const Claim& claim, const Journal& journal, std::optional<StoredRecord> record,
                                 const OnCopied& on_copied) {
  std::vector<std::size_t> numbers(journal.files.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  try {
    claim.write(journal);
  } catch (...) {
    claim.withdraw();
    throw;
  }
  FileOutcomes applied;
  Copied copied(journal, on_copied);
  try {
    applied = for_each_in_turn(claim.store(), journal, numbers, Direction::forth,
                               [&](std::size_t number) { apply_file(claim.store(), journal, number, copied); });
    applied.rethrow();
    record ? claim.commit_as(*record) : claim.drop();
  } catch (const std::exception& problem) {
    take_back(claim, journal, applied, problem);
    throw;
  }
  std::vector<Finding> findings = settle(claim);
  tidy_up(claim, journal, record.has_value());
  return findings;
}

}  // namespace tare
