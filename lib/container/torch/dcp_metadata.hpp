// The directory of a torch distributed checkpoint: a pickle that says of each stored item under which key, in which
// file and where. Source: torch/distributed/checkpoint/metadata.py and filesystem.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/realloc_vector.hpp"
#include "lib/base/source.hpp"
#include "lib/container/pickle/read/pickle.hpp"

namespace tare {

/// One stored item: a value of the state dict, or one shard of a tensor.
struct DcpItem {
  std::string_view key;          ///< torch's fqn, in the pickle's text: "optim.state.0.step", "common_state/shard_0_1"
  Span place;                    ///< in the file
  std::uint32_t file = 0;        ///< index into DcpMetadata::files
  std::uint32_t transforms = 0;  ///< index into DcpMetadata::transforms: what was done to the bytes on their way
  bool is_tensor = false;        ///< false: an object that torch.save wrote, or bytes that its maker chose
};

/// The nodes that say where an item is.
struct DcpPlaceNodes {
  NodeId offset = nowhere;
  NodeId length = nowhere;
};

struct DcpMetadata {
  std::shared_ptr<const Bytes> text;
  Pickle pickle;
  std::vector<std::string> files;       ///< as they are named: nobody has looked whether the names may be followed
  std::vector<std::string> transforms;  ///< names, joined; the first is none
  ReallocVector<DcpItem> items;         ///< in the order of the pickle
  std::vector<DcpPlaceNodes> nodes;     ///< of each item, with DcpShapes::read
};

/// Where items are is always read. What shape tensors have, several times as much, is of use to few; without that, the
/// pickle's tree holds neither the items nor the way of each in the state dict.
enum class DcpShapes : std::uint8_t { skipped, read };

/// Throws `corrupt` where it is no such pickle or contradicts itself. Not to be moved: items point into it.
std::unique_ptr<const DcpMetadata> read_dcp_metadata(const Source& source, DcpShapes shapes = DcpShapes::skipped);

/// The numbers that say how many elements a tensor of one dimension has: its own and its only chunk's. Throws `refused`
/// for a tensor of more dimensions, or in several chunks. REQUIRES: metadata with DcpShapes::read.
std::vector<NodeId> length_nodes(const DcpMetadata& metadata, const DcpItem& tensor);

}  // namespace tare
