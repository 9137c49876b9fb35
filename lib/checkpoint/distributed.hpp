// torch's distributed checkpoints as they lie on disk: folders with a metadata file in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/checkpoint/several_files.hpp"

namespace tare {

/// ".metadata", or "__3.metadata" where each rank wrote its own.
bool is_distributed_metadata(std::string_view file_name);
/// One of the `.distcp` files that the metadata describes.
bool is_distributed_data(std::string_view file_name);
/// The metadata files that may describe a `.distcp` file; none for other names.
std::vector<std::string> distributed_metadata_of(std::string_view file_name);

/// Opens the checkpoint that the metadata file `name` describes, and reads of it what can be scaler state.
OpenedWhole open_distributed(const std::shared_ptr<const SourceFolder>& folder, const std::string& name);

}  // namespace tare
