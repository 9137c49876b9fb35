#include "lib/edit/carry_out.hpp"

#include <exception>

#include "lib/base/error.hpp"
#include "lib/edit/apply.hpp"
#include "lib/edit/recover.hpp"

namespace tare {
namespace {

/// A file that somebody else wrote before we came to it is refused untouched, and stays as it is.
bool was_refused_untouched(const Store& store, const Journal& journal, std::size_t reached,
                           const std::exception& problem) {
  const auto* error = dynamic_cast<const Error*>(&problem);
  return error != nullptr && error->status == Status::refused && stand_of(store, journal, reached) == Stand::foreign;
}

/// `reached`: the file that failed; those behind it were not begun.
void take_back(const Claim& claim, const Journal& journal, std::size_t reached, const std::exception& problem) {
  const Store& store = claim.store();
  try {
    Journal begun = journal;
    if (reached < journal.files.size()) {
      begun.files.resize(was_refused_untouched(store, journal, reached, problem) ? reached : reached + 1);
    }
    roll_back(store, begun, {});
    claim.withdraw();
  } catch (const Error& second) {
    throw Error(Status::io, std::string(problem.what()) + "; rolling back was stopped as well: " + second.what(),
                "mend the cause, then `tare undo` brings the old state back", second.detail);
  }
}

void settle(const Claim& claim) {
  try {
    claim.settle();
  } catch (const Error& problem) {
    throw Error(Status::io,
                std::string(problem.what()) + "; the change is made, but a power failure could take it back",
                problem.hint, problem.detail);
  }
}

/// What cannot be removed now does no harm: the next transaction sweeps it away.
void tidy_up(const Claim& claim, const Journal& journal, bool keeps_history) {
  try {
    remove_parts(claim.store(), journal);
    if (!keeps_history) claim.store().remove_if_empty();
  } catch (const Error&) {
    return;
  }
}

}  // namespace

void carry_out(const Claim& claim, const Journal& journal, std::optional<StoredRecord> record) {
  try {
    claim.write(encoded(journal));
  } catch (...) {
    claim.withdraw();
    throw;
  }
  std::size_t reached = 0;
  try {
    for (; reached < journal.files.size(); ++reached) apply_file(claim.store(), journal, reached);
    record ? claim.commit_as(*record) : claim.drop();
  } catch (const std::exception& problem) {
    take_back(claim, journal, reached, problem);
    throw;
  }
  settle(claim);
  tidy_up(claim, journal, record.has_value());
}

}  // namespace tare
