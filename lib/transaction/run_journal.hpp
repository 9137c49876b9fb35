// The course of every transaction, edit and undo alike: journal, apply, commit; or all of it back.
#pragma once

#include <optional>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/transaction/claim.hpp"
#include "lib/transaction/copied.hpp"

namespace tare {

/// Makes the changes of `journal`, and makes them count: as `record`, or without one. The claim is used up. Throws what
/// went wrong, after everything was rolled back and nothing left behind; where even that fails, says so and leaves the
/// journal for recovery. What goes wrong once the change is made is a finding: `not-durable`.
std::vector<Finding> run_journal(const Claim& claim, const Journal& journal, std::optional<StoredRecord> record,
                                 const OnCopied& on_copied = {});

}  // namespace tare
