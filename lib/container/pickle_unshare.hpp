// A tensor that shares its storage with others, described anew with a storage of its own: the others keep theirs.
#pragma once

#include <string>
#include <vector>

#include "lib/container/pickle.hpp"
#include "lib/container/pickle_slack.hpp"

namespace tare {

/// What changes in the pickle so that a one-element tensor is the first and only element of storage `key`.
/// Throws `refused` where the description is written so that other places of the pickle refer back into it.
std::vector<Replacement> own_storage(const Pickle& pickle, std::uint64_t begin, NodeId tensor, std::string_view key);

}  // namespace tare
