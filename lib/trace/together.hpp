// Several sources that tell of one run: a text log, event files, tables, checkpoints.
#pragma once

#include <vector>

#include "lib/trace/trace.hpp"

namespace tare {

/// One trace of them all. That of the source that tells most is the frame; no step is counted twice. Of the others it
/// takes what it lacks: whether a step overflowed, its scale, loss and norm; steps in front of its own and behind them;
/// the exception that ended the run. What they tell of the same steps is compared, whether they count from 0 or from 1:
/// `other-source` says how much agrees, `sources-disagree` what contradicts, and then nothing is taken from there.
/// `saved`: what the run's checkpoints tell.
Trace told_together(std::vector<Trace> traces, Trace saved);

}  // namespace tare
