#include "lib/base/summed_source.hpp"

#include <algorithm>

#include "lib/base/crc32.hpp"

namespace tare {
namespace {

/// Stays in a core's cache between being read and being summed.
constexpr std::uint64_t piece_bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t least_kept = 65536;

}  // namespace

void SummedSource::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (to.size() < least_kept) return source_->read(offset, to);
  require_inside(offset, to.size());
  Summed sum{to.size(), crc32({})};
  for (std::uint64_t at = offset; !to.empty();) {
    const std::span<std::byte> piece = to.first(std::min<std::uint64_t>(to.size(), piece_bytes));
    source_->read(at, piece);
    sum.crc = crc32_joined(sum.crc, crc32(piece), piece.size());
    at += piece.size();
    to = to.subspan(piece.size());
  }
  const std::lock_guard lock(lock_);
  summed_[offset] = sum;
}

std::pair<std::optional<SummedSource::Summed>, std::uint64_t> SummedSource::known(std::uint64_t at,
                                                                                  std::uint64_t end) const {
  const std::lock_guard lock(lock_);
  auto next = summed_.lower_bound(at);
  if (next != summed_.end() && next->first == at && next->second.size <= end - at) {
    return {next->second, at + next->second.size};
  }
  if (next != summed_.end() && next->first == at) ++next;
  return {std::nullopt, next == summed_.end() ? end : std::min(end, next->first)};
}

std::uint32_t SummedSource::crc32_of(Span run) const {
  std::uint32_t crc = crc32({});
  Bytes piece;
  for (std::uint64_t at = run.offset; at < run.end();) {
    const auto [sum, until] = known(at, run.end());
    if (sum) {
      crc = crc32_joined(crc, sum->crc, sum->size);
      at = until;
      continue;
    }
    piece.resize(std::min(until - at, piece_bytes));
    source_->read(at, piece);
    crc = crc32_joined(crc, crc32(piece), piece.size());
    at += piece.size();
  }
  return crc;
}

}  // namespace tare
