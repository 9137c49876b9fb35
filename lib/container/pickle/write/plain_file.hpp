// What a rewritten pickle asks of a file that has no directory and no checksums: patches where nothing moves, else one
// splice.
#pragma once

#include <span>
#include <string_view>

#include "lib/base/source.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/pickle/write/rewrite.hpp"

namespace tare {

/// `old_pickle` stands at `offset` in `source`. Throws `refused` where a size changes and elements far away from the
/// pickle change as well: a splice cannot hold both.
FileChange change_plain_file(const Source& source, std::uint64_t offset, ByteView old_pickle,
                             const PickleRewrite& rewrite, std::string_view meaning);

}  // namespace tare
