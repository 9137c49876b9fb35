#include "lib/container/plain_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/file_change.hpp"

namespace tare {
namespace {

Splice spliced(const Source& source, const std::vector<ChangedRun>& runs) {
  const std::uint64_t begin = runs.front().place.offset;
  const std::uint64_t end = runs.back().place.end();
  if (end - begin > limits::max_tensor_read_bytes) {
    throw Error(Status::refused,
                fmt::format("{}: values {} bytes apart cannot change at once, as one of them changes its size",
                            source.name(), end - begin),
                "edit them one after the other");
  }
  const Bytes before = source.read({begin, end - begin});
  Bytes after;
  std::string meaning;
  std::set<std::string_view> told;  // of a list's items, each is told as the list
  std::uint64_t at = begin;
  for (const ChangedRun& run : runs) {
    const ByteView between = ByteView(before).subspan(at - begin, run.place.offset - at);
    after.insert(after.end(), between.begin(), between.end());
    after.insert(after.end(), run.after.begin(), run.after.end());
    if (told.insert(run.meaning).second) meaning += (meaning.empty() ? "" : ", ") + run.meaning;
    at = run.place.end();
  }
  return changed_run(begin, before, after, meaning);
}

}  // namespace

FileChange change_runs(const Source& source, std::vector<ChangedRun> runs) {
  FileChange change;
  if (runs.empty()) return change;
  std::sort(runs.begin(), runs.end(),
            [](const ChangedRun& a, const ChangedRun& b) { return a.place.offset < b.place.offset; });
  const auto moves = [](const ChangedRun& run) { return run.place.size != run.after.size(); };
  if (std::any_of(runs.begin(), runs.end(), moves)) {
    change.splice = spliced(source, runs);
    return change;
  }
  for (const ChangedRun& run : runs) {
    auto patches = differing_parts(source.read(run.place), run.after, run.place.offset, run.meaning);
    std::move(patches.begin(), patches.end(), std::back_inserter(change.patches));
  }
  return change;
}

}  // namespace tare
