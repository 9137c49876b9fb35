#include "lib/container/file_change.hpp"

#include <algorithm>

namespace tare {
namespace {

std::vector<Span> differing_spans(ByteView before, ByteView after) {
  // Runs that are this near to each other are one patch: fewer writes, and easier to read.
  static constexpr std::size_t gap = 8;
  std::vector<Span> runs;
  std::size_t at = 0;
  while (at < before.size()) {
    if (const std::size_t same = common_start(before.subspan(at), after.subspan(at)); same > 0) {
      at += same;
      continue;
    }
    std::size_t end = at + 1;
    for (std::size_t i = end; i < before.size() && i < end + gap; ++i) {
      if (before[i] != after[i]) end = i + 1;
    }
    runs.push_back({at, end - at});
    at = end;
  }
  return runs;
}

}  // namespace

std::vector<Patch> differing_runs(ByteView before, ByteView after, std::uint64_t offset, std::string_view meaning) {
  std::vector<Patch> patches;
  for (const auto& [at, size] : differing_spans(before, after)) {
    patches.push_back({offset + at, SharedBytes::copy_of(before.subspan(at, size)),
                       SharedBytes::copy_of(after.subspan(at, size)), std::string(meaning)});
  }
  return patches;
}

std::vector<Patch> differing_parts(const SharedBytes& before, const SharedBytes& after, std::uint64_t offset,
                                   std::string_view meaning) {
  constexpr std::uint64_t long_run = 256;  // what is shorter would hold all for little
  const std::vector<Span> runs = differing_spans(before, after);
  std::uint64_t sum = 0;
  for (const Span run : runs) sum += run.size < long_run ? 0 : run.size;
  const bool is_most = sum > before.size() / 2;
  const auto piece = [&](const SharedBytes& bytes, Span run) {
    const SharedBytes part = bytes.part(run.offset, run.size);
    return is_most && run.size >= long_run ? part : SharedBytes::copy_of(part);
  };
  std::vector<Patch> patches;
  for (const Span run : runs) {
    patches.push_back({offset + run.offset, piece(before, run), piece(after, run), std::string(meaning)});
  }
  return patches;
}

Splice changed_run(std::uint64_t offset, ByteView before, ByteView after, std::string_view meaning) {
  const std::size_t shorter = std::min(before.size(), after.size());
  const std::size_t head = common_start(before.first(shorter), after.first(shorter));
  std::size_t tail = 0;
  while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;
  const ByteView old_run = before.subspan(head, before.size() - head - tail);
  const ByteView new_run = after.subspan(head, after.size() - head - tail);
  return {offset + head, Bytes(old_run.begin(), old_run.end()), Bytes(new_run.begin(), new_run.end()),
          std::string(meaning)};
}

}  // namespace tare
