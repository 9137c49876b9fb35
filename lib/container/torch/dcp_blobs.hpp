// The items of a distributed checkpoint that were asked for, each opened as what it is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"
#include "lib/container/torch/dcp_metadata.hpp"

namespace tare {

struct DcpBlob {
  const DcpItem* item = nullptr;
  std::size_t part = 0;
  std::shared_ptr<const Source> window;  ///< its bytes
  std::unique_ptr<const Container> container;
  NodeId first = 0;          ///< where its nodes begin in the checkpoint's tree
  bool is_in_image = false;  ///< a tensor among others in one safetensors image, which starts where the item does
};

struct DcpBlobs {
  std::vector<std::string> parts;                      ///< [0] is the metadata file
  std::vector<std::shared_ptr<const Source>> sources;  ///< of the parts
  std::vector<DcpBlob> blobs;                          ///< in the order of the metadata
  std::vector<Finding> findings;
};

/// Reads the items whose flag is set; neighbours in a file with one read.
DcpBlobs read_dcp_blobs(const SourceFolder& folder, const std::string& name, const DcpMetadata& metadata,
                        const std::vector<bool>& chosen);

}  // namespace tare
