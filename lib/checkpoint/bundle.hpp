// TensorFlow's checkpoints as they lie on disk: <prefix>.index and <prefix>.data-00000-of-00001 ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/checkpoint/several_files.hpp"

namespace tare {

bool is_bundle_index(std::string_view file_name);
bool is_bundle_data(std::string_view file_name);
/// The index of a data file; of any other name, which may be a checkpoint's prefix, what its index would be.
std::vector<std::string> bundle_indices_of(std::string_view name);

/// Opens the checkpoint of that index, and reads of it what can be scaler state.
OpenedWhole open_bundle(const std::shared_ptr<const SourceFolder>& folder, const std::string& name);

}  // namespace tare
