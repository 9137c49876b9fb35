// A pickle that is the whole file: pickle.dump, numpy, Paddle, accelerate's random states.
#pragma once

#include <memory>

#include "lib/container/container.hpp"

namespace tare {

/// Whether the first bytes are those of a pickle of protocol 2 or later.
bool starts_like_pickle(ByteView head);

/// Whether all of the file is one pickle of protocol 0 or 1, which have no header, and holds a collection or an object.
bool is_old_pickle(const Source& source, ByteView head);

/// Throws `corrupt` where no Python gets to its end (what stands before may run all the same), or it holds nothing but
/// a call.
std::unique_ptr<Container> open_pickle_file(const std::shared_ptr<const Source>& source);

/// A pickle behind `begin` bytes of another format's own, which `format` (static) names. `root_of` gives the node that
/// stands for the whole, given the one that the pickle leaves.
std::unique_ptr<Container> open_pickle_behind(const std::shared_ptr<const Source>& source, std::uint64_t begin,
                                              std::string_view format, NodeId (*root_of)(const Tree&, NodeId));

}  // namespace tare
