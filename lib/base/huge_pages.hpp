// Large buffers in huge pages: whoever fills megabytes once would spend half the time on page faults.
#pragma once

#include <cstddef>

namespace tare {

/// Asks the system to back `size` bytes at `buffer`, not touched yet, with huge pages. Only a hint: where the system
/// has none, or the buffer is small, nothing changes.
void prefer_huge_pages(void* buffer, std::size_t size);

}  // namespace tare
