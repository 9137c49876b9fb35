// A change of a checkpoint, from its path to the receipt: the same for the command and for the library's callers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/base/object_layer.hpp"
#include "lib/edit/open_settled.hpp"
#include "lib/edit/plan.hpp"
#include "lib/transaction/transaction.hpp"

namespace tare {

struct CheckpointChange {
  std::string path;
  std::function<EditPlan(const Checkpoint&)> plan;
  OpenOptions open = {};
  ScopeOf scope_of;  ///< by the key that seals, so that what this user began is known as his
  TransactionOptions transaction = {};
  /// Sees what was planned before anything is written, and throws where it is not to be. May be empty.
  std::function<void(const Checkpoint&, const EditPlan&)> approve = {};
  /// Told of a transaction that was interrupted before it is rolled back, and throws where it is not to be. May be
  /// empty.
  std::function<void(const Pending&)> before_rolling_back = {};
  /// Told of each transaction that was interrupted and is rolled back now. May be empty.
  std::function<void(const Pending&)> on_rolled_back = {};
  ObjectLayer* objects = nullptr;  ///< of a checkpoint in a store: its objects, borrowed; then `scope_of` is not asked
};

/// What was read, and what is to become of it.
struct PlannedChange {
  Checkpoint checkpoint;
  EditPlan plan;
};

struct MadeChange {
  Checkpoint checkpoint;  ///< as it was
  EditPlan plan;
  Receipt receipt;
};

/// Rolls back what was interrupted in the checkpoint, plans, has it approved, and writes all of it or nothing. Where
/// it throws, nothing but the rolling back was done: what is `busy` may be tried again. Throws what open_settled,
/// recover, `plan`, `approve` and commit throw.
MadeChange make_change(const CheckpointChange& change);

/// The same in two steps: what comes before the approval, and from that on. Of several changes the first steps may be
/// taken at the same time.
PlannedChange plan_change(const CheckpointChange& change);
MadeChange make_planned(const CheckpointChange& change, PlannedChange planned);

}  // namespace tare
