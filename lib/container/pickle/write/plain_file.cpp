#include "lib/container/pickle/write/plain_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

/// Makes a splice reach as far as the elements behind it, and changes them in it.
void reach_elements(const Source& source, std::span<const ElementPatch> elements, Splice& splice) {
  const std::uint64_t old_end = splice.offset + splice.before.size();
  std::uint64_t end = old_end;
  for (const ElementPatch& element : elements) end = std::max(end, element.place.end());
  if (end - old_end > limits::max_tensor_read_bytes) {
    throw Error(Status::refused,
                source.name() + ": a value that changes its size and a tensor cannot be changed at once",
                "edit them one after the other");
  }
  const Bytes between = source.read({old_end, end - old_end});
  const std::size_t moved = splice.after.size();
  for (Bytes* side : {&splice.before, &splice.after}) side->insert(side->end(), between.begin(), between.end());
  for (const ElementPatch& element : elements) {
    if (element.place.offset < old_end) throw Error(Status::internal, "tensor elements in front of their pickle");
    std::copy(element.after.begin(), element.after.end(),
              splice.after.begin() + static_cast<std::ptrdiff_t>(moved + element.place.offset - old_end));
  }
}

}  // namespace

FileChange change_plain_file(const Source& source, std::uint64_t offset, ByteView old_pickle,
                             const PickleRewrite& rewrite, std::string_view meaning) {
  FileChange change;
  if (rewrite.pickle.size() != old_pickle.size()) {
    change.splice = changed_run(offset, old_pickle, rewrite.pickle, meaning);
    reach_elements(source, rewrite.elements, *change.splice);
    return change;
  }
  change.patches = differing_runs(old_pickle, rewrite.pickle, offset, meaning);
  for (const ElementPatch& element : rewrite.elements) {
    auto runs = differing_parts(source.read(element.place), element.after, element.place.offset, element.meaning);
    std::move(runs.begin(), runs.end(), std::back_inserter(change.patches));
  }
  return change;
}

}  // namespace tare
