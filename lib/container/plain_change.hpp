// Changes of a file that has no directory and no checksums: runs of bytes that stand for values.
#pragma once

#include <vector>

#include "lib/base/source.hpp"
#include "lib/container/file_change.hpp"

namespace tare {

/// Bytes that go where others stand.
struct ChangedRun {
  Span place;
  SharedBytes after;
  std::string meaning;
};

/// Patches where every run keeps its size; else one splice from the first run to the last. Throws `refused` where such
/// a splice would be longer than limits::max_tensor_read_bytes. REQUIRES: runs that do not overlap.
FileChange change_runs(const Source& source, std::vector<ChangedRun> runs);

}  // namespace tare
