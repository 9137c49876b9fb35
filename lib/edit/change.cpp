#include "lib/edit/change.hpp"

#include "lib/base/error.hpp"

namespace tare {
namespace {

Checkpoint open_recovered(const CheckpointChange& change) {
  std::string interrupted = change.path;
  OpenOptions options = change.open;
  options.keeps_for_edit = true;
  try {
    SettledCheckpoint read = open_settled(change.path, options, change.scope_of);
    if (!read.pending) return std::move(read.checkpoint);
    interrupted = read.checkpoint.resolved;
  } catch (const Error&) {
    // Half-written files may be why it cannot be read: they come back first.
    if (!find_pending(change.scope_of(change.path))) throw;
  }
  for (const Pending& pending : recover(change.scope_of(interrupted), change.transaction.recovery)) {
    if (change.on_rolled_back) change.on_rolled_back(pending);
  }
  return open_checkpoint(change.path, options);
}

}  // namespace

MadeChange make_change(const CheckpointChange& change) {
  Checkpoint checkpoint = open_recovered(change);
  EditPlan plan = change.plan(checkpoint);
  if (change.approve) change.approve(checkpoint, plan);
  Receipt receipt = commit(system_files(), plan.files, plan.for_history, change.transaction);
  return {std::move(checkpoint), std::move(plan), std::move(receipt)};
}

}  // namespace tare
