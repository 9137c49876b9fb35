// A trace as an answer: piece by piece, because it may have millions of steps.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "lib/trace/trace.hpp"
#include "lib/transaction/recover.hpp"

namespace tare {

using WriteText = std::function<void(std::string_view)>;

/// "tare.trace/1". `unfinished`: edits of the trace's checkpoints whose values may not be those that rule.
void write_trace_json(const Trace& trace, const std::vector<Pending>& unfinished, const WriteText& write);

/// A header and a row for each step. Cells that are not told are empty; sources by their index.
void write_trace_csv(const Trace& trace, const WriteText& write);

}  // namespace tare
