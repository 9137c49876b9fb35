// HDF5: all groups of a file as maps, datasets as tensors, a group's attributes under their names with an @ in front.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "lib/container/hdf5/dataset.hpp"
#include "lib/container/stored_tensors.hpp"
#include "lib/hdf5/file.hpp"

namespace tare {

struct Hdf5Tree {
  Tree tree;  ///< without a reader: its tensors are in `tensors`
  std::shared_ptr<StoredTensors> tensors = std::make_shared<StoredTensors>();
  /// Tensors that stand in object headers, and the blocks of those where a checksum stands behind it.
  std::unordered_map<NodeId, std::optional<Span>> in_headers;
  std::unordered_set<NodeId> packed;  ///< tensors in chunks, which were unpacked: nothing can be put into them
  std::unordered_set<NodeId> shared;  ///< objects that several links lead to
};

/// Follows every link of the group at `root`, each object once. Objects that cannot be read are opaque nodes, and told
/// as findings of `file`. Of tare's own states (`is_own_state`), chunks and lists of texts are read, too. Throws
/// `corrupt` where a checksum is wrong, `refused` for more links than any real file has.
Hdf5Tree read_hdf5_tree(Hdf5File& file, std::uint64_t root);

/// Whether the attributes of the root say that the file holds states of tare's.
bool is_own_state(Hdf5File& file, const Hdf5Header& root);

}  // namespace tare
