#include "lib/container/file_change.hpp"

#include <algorithm>
#include <cstring>

namespace tare {
namespace {

/// How many bytes are the same from the start on: whole blocks first, of which most runs consist.
std::size_t equal_bytes(ByteView a, ByteView b) {
  constexpr std::size_t block = 256;
  std::size_t same = 0;
  while (same + block <= a.size() && std::memcmp(a.data() + same, b.data() + same, block) == 0) same += block;
  while (same < a.size() && a[same] == b[same]) ++same;
  return same;
}

}  // namespace

std::vector<Patch> differing_runs(ByteView before, ByteView after, std::uint64_t offset, std::string_view meaning) {
  // Runs that are this near to each other are one patch: fewer writes, and easier to read.
  static constexpr std::size_t gap = 8;
  std::vector<Patch> runs;
  std::size_t at = 0;
  while (at < before.size()) {
    if (const std::size_t same = equal_bytes(before.subspan(at), after.subspan(at)); same > 0) {
      at += same;
      continue;
    }
    std::size_t end = at + 1;
    for (std::size_t i = end; i < before.size() && i < end + gap; ++i) {
      if (before[i] != after[i]) end = i + 1;
    }
    const auto slice = [&](ByteView bytes) {
      return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(end));
    };
    runs.push_back({offset + at, slice(before), slice(after), std::string(meaning)});
    at = end;
  }
  return runs;
}

Splice changed_run(std::uint64_t offset, ByteView before, ByteView after, std::string_view meaning) {
  const std::size_t shorter = std::min(before.size(), after.size());
  const std::size_t head = equal_bytes(before.first(shorter), after.first(shorter));
  std::size_t tail = 0;
  while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;
  const ByteView old_run = before.subspan(head, before.size() - head - tail);
  const ByteView new_run = after.subspan(head, after.size() - head - tail);
  return {offset + head, Bytes(old_run.begin(), old_run.end()), Bytes(new_run.begin(), new_run.end()),
          std::string(meaning)};
}

}  // namespace tare
