// Files to be written, apart from stdin, stdout and stderr.
#pragma once

namespace tare {

/// The descriptor under a number of its own, where a stream that the process closed left it a standard one: what others
/// print must not land in the file. Takes what open(2) gave, and fails as it does.
int above_standard_streams(int opened);

}  // namespace tare
