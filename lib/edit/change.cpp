#include "lib/edit/change.hpp"

#include "lib/base/error.hpp"
#include "lib/objects/object_transaction.hpp"
#include "lib/objects/places.hpp"

namespace tare {
namespace {

void let_roll_back(const CheckpointChange& change, const Pending& pending) {
  if (change.before_rolling_back && pending.state == PendingState::interrupted) change.before_rolling_back(pending);
}

Checkpoint open_recovered(const CheckpointChange& change) {
  std::string interrupted = change.path;
  OpenOptions options = change.open;
  options.keeps_for_edit = true;
  std::optional<Pending> pending;
  try {
    SettledCheckpoint read = open_settled(change.path, options, change.scope_of);
    if (!read.pending) return std::move(read.checkpoint);
    interrupted = read.checkpoint.resolved;
    pending = std::move(read.pending);
  } catch (const Error&) {
    // Half-written files may be why it cannot be read: they come back first.
    pending = find_pending(change.scope_of(change.path));
    if (!pending) throw;
  }
  let_roll_back(change, *pending);
  for (const Pending& done : recover(change.scope_of(interrupted), change.transaction.recovery)) {
    if (change.on_rolled_back) change.on_rolled_back(done);
  }
  return open_checkpoint(change.path, options);
}

/// Where a run leads to the checkpoint that is meant is known once it was opened.
Checkpoint open_recovered_objects(const CheckpointChange& change) {
  OpenOptions options = change.open;
  options.keeps_for_edit = true;
  const auto recovered = [&](const std::string& path) {
    if (change.before_rolling_back) {
      if (const auto pending = find_pending_around(*change.objects, path, change.transaction.key)) {
        let_roll_back(change, *pending);
      }
    }
    const auto done = recover_around(*change.objects, path, change.transaction.key, change.transaction.recovery);
    for (const Pending& pending : done) {
      if (change.on_rolled_back) change.on_rolled_back(pending);
    }
    return !done.empty();
  };
  require_reachable(change.path);
  change.objects->forget();
  recovered(change.path);
  Checkpoint checkpoint = open_checkpoint(change.path, options);
  const bool is_elsewhere = checkpoint.resolved != change.path;
  return is_elsewhere && recovered(checkpoint.resolved) ? open_checkpoint(change.path, options) : std::move(checkpoint);
}

/// The plan has all that it needs: of thousands of files, what was kept to plan with is most of the memory.
void let_go(Checkpoint& checkpoint) {
  for (CheckpointFile& file : checkpoint.files) file.kept.reset();
}

}  // namespace

PlannedChange plan_change(const CheckpointChange& change) {
  Checkpoint checkpoint = change.objects == nullptr ? open_recovered(change) : open_recovered_objects(change);
  EditPlan plan = change.plan(checkpoint);
  let_go(checkpoint);
  return {std::move(checkpoint), std::move(plan)};
}

MadeChange make_planned(const CheckpointChange& change, PlannedChange planned) {
  auto& [checkpoint, plan] = planned;
  if (change.approve) change.approve(checkpoint, plan);
  Receipt receipt = change.objects == nullptr
                        ? commit(system_files(), plan.files, std::move(plan.for_history), change.transaction)
                        : commit(*change.objects, plan.files, plan.for_history, change.transaction);
  return {std::move(checkpoint), std::move(plan), std::move(receipt)};
}

MadeChange make_change(const CheckpointChange& change) {
  return make_planned(change, plan_change(change));
}

}  // namespace tare
