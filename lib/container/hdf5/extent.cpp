#include "lib/container/hdf5/extent.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tare {
namespace {

constexpr std::size_t most_gaps_told = 8;

/// From the first byte that is not zero to the last one; empty where all are.
Span without_zeros(const Source& source, Span gap) {
  constexpr std::uint64_t piece_size = std::uint64_t{64} << 10;
  const auto is_used = [](std::byte byte) { return byte != std::byte{0}; };
  Span found{gap.offset, 0};
  for (std::uint64_t at = gap.offset; at < gap.end(); at += piece_size) {
    const Bytes piece = source.read({at, std::min(piece_size, gap.end() - at)});
    source.budget()->take_steps(piece.size());
    const auto first = std::find_if(piece.begin(), piece.end(), is_used);
    if (first == piece.end()) continue;
    const auto behind = std::find_if(piece.rbegin(), piece.rend(), is_used).base();
    if (found.size == 0) found.offset = at + static_cast<std::uint64_t>(first - piece.begin());
    found.size = at + static_cast<std::uint64_t>(behind - piece.begin()) - found.offset;
  }
  return found;
}

}  // namespace

std::vector<std::string> hdf5_unused_bytes(const Source& source, std::vector<Span> used, std::uint64_t end) {
  std::sort(used.begin(), used.end(), [](Span a, Span b) { return a.offset < b.offset; });
  used.push_back({end, 0});
  std::vector<std::string> told;
  std::uint64_t at = 0;
  for (const Span span : used) {
    if (span.offset > at && told.size() < most_gaps_told) {
      const Span rest = without_zeros(source, {at, span.offset - at});
      if (rest.size > 0) told.push_back(fmt::format("{} bytes at offset {} belong to nothing", rest.size, rest.offset));
    }
    at = std::max(at, span.end());
  }
  at = std::max(at, end);
  if (at < source.size())
    told.push_back(fmt::format("{} bytes stand behind its end at offset {}", source.size() - at, at));
  return told;
}

}  // namespace tare
