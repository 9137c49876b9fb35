// A file of tare's own states with some of them changed, written anew as a whole: what does not fit where it stands.
#pragma once

#include <memory>
#include <span>

#include "lib/base/bytes.hpp"
#include "lib/base/source.hpp"
#include "lib/state/named_state.hpp"

namespace tare {

/// What becomes of `file`, of either kind, with `changed` in the place of its states of their paths; HDF5 is packed as
/// a new file is. Throws what reading and writing states throws, and `refused` for HDF5 whose checksum is not that of
/// the file: a new one would vouch for what tare did not write.
Bytes file_with_states(const std::shared_ptr<const Source>& file, std::span<const NamedState> changed);

}  // namespace tare
