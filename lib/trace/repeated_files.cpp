#include "lib/trace/repeated_files.hpp"

#include <algorithm>
#include <compare>
#include <utility>

#include "lib/base/error.hpp"

namespace tare {

namespace {

/// Whether their fronts leave it open that one is a copy of the other, or its beginning.
bool may_repeat(const RunFile& a, const RunFile& b) {
  const bool are_pages_known = a.first_page != 0 && b.first_page != 0;
  return a.metric == b.metric && a.first_line == b.first_line && (!are_pages_known || a.first_page == b.first_page);
}

/// Less: the first is the beginning of the second; unordered: they differ.
std::partial_ordering compared(Input& a, Input& b) {
  constexpr std::size_t piece = std::size_t{1} << 18;
  for (;;) {
    const Bytes first = first_bytes(a, piece), second = first_bytes(b, piece);
    const std::size_t both = std::min(first.size(), second.size());
    if (!std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(both), second.begin())) {
      return std::partial_ordering::unordered;
    }
    if (first.size() != second.size() || both < piece) return first.size() <=> second.size();
  }
}

std::partial_ordering compared(const RunFile& a, const RunFile& b, const TraceOptions& options) {
  const bool is_read_once = a.input != nullptr || b.input != nullptr;
  if (is_read_once || !may_repeat(a, b)) return std::partial_ordering::unordered;
  try {
    Input first(a.path, options), second(b.path, options);
    return compared(first, second);
  } catch (const Error&) {
    return std::partial_ordering::unordered;
  }
}

}  // namespace

void drop_repeated(std::vector<RunFile>& files, const TraceOptions& options) {
  std::vector<RunFile> kept;
  for (RunFile& file : files) {
    auto order = std::partial_ordering::unordered;
    const auto other = std::ranges::find_if(kept, [&](const RunFile& one) {
      order = compared(file, one, options);
      return order != std::partial_ordering::unordered;
    });
    if (other == kept.end()) {
      kept.push_back(std::move(file));
    } else if (order > 0) {
      *other = std::move(file);
    }
  }
  files = std::move(kept);
}

}  // namespace tare
