#include "lib/watch/told_copies.hpp"

#include <algorithm>

namespace tare {

std::uint64_t same_bytes(const Source& a, const Source& b, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t smallest = 4096, largest = 1 << 20;
  end = std::min({end, a.size(), b.size()});
  std::uint64_t at = begin;
  for (std::uint64_t piece = smallest; at < end; piece = std::min(2 * piece, largest)) {
    const auto size = static_cast<std::size_t>(std::min(piece, end - at));
    Bytes first(size), second(size);
    a.read(at, first);
    b.read(at, second);
    const auto same = std::ranges::mismatch(first, second).in1 - first.begin();
    at += static_cast<std::uint64_t>(same);
    if (static_cast<std::size_t>(same) < size) break;
  }
  return std::max(at, begin) - begin;
}

bool pass_over_told(const ToldCopies& told, RunFileKind kind, const std::shared_ptr<GrowingFile>& file,
                    WholePart& read) {
  const std::uint64_t end = std::min(file->size(), told.read.end);
  if (end <= read.end) return true;
  const std::uint64_t same = told.furthest ? read.end + same_bytes(*file, *told.furthest, read.end, end) : end;
  const WindowSource window(file, {0, same}, file->name());
  for (;;) {
    const WholePart part = whole_part(kind, window, read.end);
    if (part.end == read.end) return same == end;
    read = {part.end, read.count + part.count};
  }
}

}  // namespace tare
