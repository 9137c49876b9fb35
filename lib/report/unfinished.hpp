// Edits that are not finished, of the checkpoints of a run: what is told of these may not be what rules.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lib/edit/open_settled.hpp"
#include "lib/trace/trace.hpp"
#include "lib/watch/watch.hpp"

namespace tare {

/// Those of the checkpoints that the trace was read from, on this machine.
std::vector<Pending> unfinished_of(const Trace& trace, const ScopeOf& scope_of);

/// Those at `paths` and below them, on this machine; none of a path with too many files to look for them.
std::vector<Pending> unfinished_below(const std::vector<std::string>& paths, const ScopeOf& scope_of);

/// Tells each edit of a watched run that was interrupted once, whichever checkpoint it is in.
class InterruptedEdits {
 public:
  [[nodiscard]] std::vector<WatchEvent> news_of(const std::vector<Pending>& unfinished);

 private:
  std::set<std::string> told_;
};

}  // namespace tare
