#include "lib/remote/kept_ranges.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tare {

KeptRanges::Runs::const_iterator KeptRanges::run_with(std::uint64_t offset) const {
  const auto behind = runs_.upper_bound(offset);
  if (behind == runs_.begin()) return runs_.end();
  const auto found = std::prev(behind);
  return offset - found->first < found->second.bytes.size() ? found : runs_.end();
}

/// Up to where all is known from `offset` on, `end` at most.
std::uint64_t KeptRanges::known_from(std::uint64_t offset, std::uint64_t end) const {
  for (auto run = run_with(offset); run != runs_.end() && run->first <= offset && offset < end; ++run) {
    offset = run->first + run->second.bytes.size();
  }
  return std::min(offset, end);
}

/// From where on all is known up to `end`, `begin` at least.
std::uint64_t KeptRanges::known_until(std::uint64_t end, std::uint64_t begin) const {
  while (end > begin) {
    const auto run = run_with(end - 1);
    if (run == runs_.end()) break;
    end = run->first;
  }
  return std::max(end, begin);
}

Span KeptRanges::missing(Span range) const {
  const std::uint64_t begin = known_from(range.offset, range.end());
  return {begin, known_until(range.end(), begin) - begin};
}

Span KeptRanges::gap_around(Span missing, std::uint64_t size) const {
  const auto behind = runs_.lower_bound(missing.end());
  const auto before = runs_.lower_bound(missing.offset);
  const std::uint64_t begin =
      before == runs_.begin() ? 0 : std::prev(before)->first + std::prev(before)->second.bytes.size();
  return {begin, (behind == runs_.end() ? size : behind->first) - begin};
}

bool KeptRanges::is_near(Span range, std::uint64_t distance) const {
  const std::uint64_t from = range.offset - std::min(range.offset, distance + 1);
  const auto behind = runs_.lower_bound(from);
  const bool is_behind = behind != runs_.end() && behind->first <= range.end() + distance;
  return is_behind || run_with(from) != runs_.end();
}

void KeptRanges::copy_known(std::uint64_t offset, std::span<std::byte> to) const {
  const std::uint64_t end = offset + to.size();
  const Span gap = missing({offset, to.size()});
  const auto copy = [&](std::uint64_t at, std::uint64_t until) {
    while (at < until) {
      const auto run = run_with(at);
      const auto& bytes = run->second.bytes;
      const std::uint64_t stop = std::min(until, run->first + bytes.size());
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at - run->first), stop - at,
                  to.begin() + static_cast<std::ptrdiff_t>(at - offset));
      at = stop;
    }
  };
  copy(offset, gap.offset);
  copy(gap.end(), end);
}

void KeptRanges::keep(std::uint64_t offset, ByteView bytes, Keep how_long) {
  std::uint64_t at = offset;
  const std::uint64_t end = offset + bytes.size();
  while ((at = known_from(at, end)) < end) {
    const auto next = runs_.lower_bound(at);
    const std::uint64_t stop = next == runs_.end() ? end : std::min(end, next->first);
    const ByteView piece = bytes.subspan(at - offset, stop - at);
    runs_.emplace(at, Run{Bytes(piece.begin(), piece.end()), how_long});
    if (how_long == Keep::for_now) passing_bytes_ += piece.size();
    at = stop;
  }
}

void KeptRanges::drop_passing() {
  std::erase_if(runs_, [](const auto& run) { return run.second.how_long == Keep::for_now; });
  passing_bytes_ = 0;
}

}  // namespace tare
