// Files of a run that tell what another one tells: a console's output that was kept twice, a log and its packed copy.
#pragma once

#include <vector>

#include "lib/trace/files.hpp"

namespace tare {

/// Drops those whose contents, unpacked, are another's, or its beginning. What cannot be read is left in, and so are
/// those whose paths differ in numbers alone: the attempts of a run that starts anew with one seed tell the same.
/// Forgets first pages. REQUIRES: they are of one group.
void drop_repeated(std::vector<RunFile>& files, const TraceOptions& options);

}  // namespace tare
