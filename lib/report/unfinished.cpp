#include "lib/report/unfinished.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/report/pending_text.hpp"

namespace tare {
namespace {

/// Once where several paths lead to it: a folder records one at a time.
void add_new(std::vector<Pending>& all, Pending pending) {
  if (std::ranges::find(all, pending.folder, &Pending::folder) == all.end()) all.push_back(std::move(pending));
}

std::vector<Pending> all_below(const std::string& path, const ScopeOf& scope_of) {
  try {
    return all_pending(scope_of(path));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<Pending> unfinished_of(const Trace& trace, const ScopeOf& scope_of) {
  std::vector<Pending> all;
  for (const TraceCheckpoint& checkpoint : trace.checkpoints) {
    if (auto pending = find_pending(scope_of(checkpoint.path))) add_new(all, *std::move(pending));
  }
  return all;
}

std::vector<Pending> unfinished_below(const std::vector<std::string>& paths, const ScopeOf& scope_of) {
  std::vector<Pending> all;
  for (const std::string& path : paths) {
    for (Pending& pending : all_below(path, scope_of)) add_new(all, std::move(pending));
  }
  return all;
}

std::vector<WatchEvent> InterruptedEdits::news_of(const std::vector<Pending>& unfinished) {
  std::vector<WatchEvent> events;
  for (const Pending& pending : unfinished) {
    const bool is_new =
        pending.state != PendingState::in_progress && told_.insert(pending.folder + pending.when).second;
    if (!is_new) continue;
    events.push_back({.what = WatchEvent::What::warning, .path = pending.folder, .text = pending_text(pending)});
  }
  return events;
}

}  // namespace tare
