// Keras's sharded weights in a checkpoint's folder: model.weights.json and model_00000.weights.h5 ...
#pragma once

#include "lib/checkpoint/several_files.hpp"

namespace tare {

bool is_weights_map(std::string_view file_name);
bool is_weights_shard(std::string_view file_name);
std::vector<std::string> weights_maps_of(std::string_view name);
OpenedWhole open_sharded_weights(const std::shared_ptr<const SourceFolder>& folder, const std::string& name);

}  // namespace tare
