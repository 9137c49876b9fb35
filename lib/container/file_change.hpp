// What an edit does to one file: computed by its container, shown by a dry run, carried out by edit/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/boxed.hpp"
#include "lib/base/shared_bytes.hpp"

namespace tare {

/// Bytes replaced where they stand. before.size() == after.size().
struct Patch {
  std::uint64_t offset = 0;
  SharedBytes before;
  SharedBytes after;
  std::string meaning;  ///< "scale", "CRC-32 in the central directory" ...
};

/// Bytes added behind the old end: all of `body` is on disk before `commit`, which makes them count.
struct Append {
  std::uint64_t old_size = 0;
  Bytes body;
  Bytes commit;
  std::string meaning;
};

/// Bytes replaced by another number of bytes, what stands behind moves: the file is written anew beside and renamed.
struct Splice {
  std::uint64_t offset = 0;
  Bytes before;
  Bytes after;
  std::string meaning;
};

/// Patches and perhaps an append, or a splice up to the end (in place); or one splice alone (written beside).
struct FileChange {
  std::vector<Patch> patches;
  Boxed<Append> append;
  Boxed<Splice> splice;
};

/// The runs in which `after` differs from `before` (of the same size), as patches at `offset` in the file.
std::vector<Patch> differing_runs(ByteView before, ByteView after, std::uint64_t offset, std::string_view meaning);
/// The same; of long runs, where they are most of the bytes, the patches hold these and no copies.
std::vector<Patch> differing_parts(const SharedBytes& before, const SharedBytes& after, std::uint64_t offset,
                                   std::string_view meaning);

/// What differs between two versions of a run of bytes at `offset`, as one splice: from the first byte that differs to
/// the last.
Splice changed_run(std::uint64_t offset, ByteView before, ByteView after, std::string_view meaning);

}  // namespace tare
