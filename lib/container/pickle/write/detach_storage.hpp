// A tensor described anew with a storage of its own: one that shared its storage with others, which keep theirs, or one
// whose new contents have no room in the old.
#pragma once

#include <string>
#include <vector>

#include "lib/container/pickle/read/pickle.hpp"
#include "lib/container/pickle/write/memo_room.hpp"

namespace tare {

/// What changes in the pickle so that the tensor starts storage `key`, of `size` bytes. Throws `refused` where the
/// description is written so that other places of the pickle refer back into it.
std::vector<Replacement> detach_storage(const Pickle& pickle, std::uint64_t begin, NodeId tensor, std::string_view key,
                                        std::uint64_t size);

}  // namespace tare
