// Keras's sharded weights: a `.weights.json` that says which `.weights.h5` files hold which group. A group may be
// spread over several. Source: keras/src/saving/saving_lib.py, ShardedH5IOStore.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"

namespace tare {

/// The files that `name`, the `.weights.json`, maps groups to, in its order. Throws `corrupt` where it has no such map.
std::vector<std::string> keras_shards_of(const SourceFolder& folder, const std::string& name);

/// One tree of all shards that are there; a group that several hold is one map. Throws as open_hdf5 does.
std::unique_ptr<Container> open_keras_shards(const std::shared_ptr<const SourceFolder>& folder,
                                             const std::string& name);

}  // namespace tare
