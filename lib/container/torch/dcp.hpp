// A torch distributed checkpoint (DCP): a folder of `.distcp` files in which every value of a state dict stands by
// itself, mostly as a whole stream of torch.save, and a metadata file that says where. One folder is one container: its
// tree is the state dict as far as it was asked for, keys split at their dots.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"
#include "lib/container/torch/dcp_metadata.hpp"

namespace tare {

/// One flag an item: whether to read it. Nothing is read of the others.
using DcpChoice = std::function<std::vector<bool>(const DcpMetadata&)>;

/// `name` is the metadata file's: ".metadata", or "__3.metadata" where each rank wrote its own. What cannot be read of
/// the chosen items is told in the findings (`item-not-read`, `file-not-read`), each with its part as `file`. Throws
/// what read_dcp_metadata throws.
std::unique_ptr<Container> open_torch_dcp(const std::shared_ptr<const SourceFolder>& folder, const std::string& name,
                                          const DcpChoice& choose);

}  // namespace tare
