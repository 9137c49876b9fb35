// An edit as it would be carried out: the very object that a dry run shows and that commit takes.
#pragma once

#include <string>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/edit/request.hpp"
#include "lib/objects/planned_request.hpp"
#include "lib/transaction/transaction.hpp"

namespace tare {

/// One field of one distinct scaler.
struct PlannedField {
  std::string dialect;
  std::string path;   ///< of the scaler
  std::string field;  ///< native name
  Value before;
  Value after;
  std::string note;                ///< where Python's type changes
  std::vector<std::string> files;  ///< relative, as inspect lists them
};

struct EditPlan {
  std::vector<PlannedField> fields;
  std::vector<FileEdit> files;  ///< those whose bytes change
  std::vector<FieldEdit> for_history;
  std::vector<Finding> findings;         ///< what the run would suffer from, and did not before; what was chosen
  std::vector<PlannedRequest> requests;  ///< of a store, where it was asked what they would be
};

/// REQUIRES: a checkpoint of the file system, or of a store whose objects can be changed. Opens its files once more,
/// one after the other. Every change is tried on a view of the file first, and that view read afresh: the plan stands
/// only where the new values, and nothing else about the scalers, are found in it. Copies that disagree are aligned
/// where that is asked for: they get the state that most of them have, of equals the first in file order. Throws
/// `refused` (ambiguous, not stored, of no use, shared with another place, not to be aligned, changed since it was
/// read), `conflict` where copies disagree and are not to be aligned, `not_found` where there is no scaler,
/// `invalid_argument` for unknown keys and values that are none.
EditPlan plan_edit(const Checkpoint& checkpoint, const EditRequest& request);

}  // namespace tare
