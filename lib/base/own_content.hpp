// A file that is written again and again, and unasked: what somebody else wrote is never in its place.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// Throws `refused` where a file lies at `path` that is neither empty nor begins with `beginning`, as all do that were
/// written so before; `content` is what a message calls those. What is no regular file (a pipe) is let pass.
void require_own_content(const std::string& path, std::string_view beginning, std::string_view content);

}  // namespace tare
