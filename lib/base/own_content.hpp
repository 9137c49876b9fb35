// A file that is written again and again, and unasked: what somebody else wrote is never in its place.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// Throws `refused` where a file lies at `path` that does not begin with `beginning`, as all do that were written so
/// before, or with as much of it as was written when a disk was full; `content` is what a message calls those. What is
/// no regular file (a pipe) is let pass.
void require_own_content(const std::string& path, std::string_view beginning, std::string_view content);

/// Whether the regular file at `path` ends within a line, as after a power cut, which the next one is put behind.
bool ends_within_line(const std::string& path);

}  // namespace tare
