// Layers of one name in several files: the stages of a pipeline may each count their layers from 0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Notes in FP8 states which file each is in, where there are several of one name.
void tell_layers_apart(std::vector<Scaler>& scalers, const std::vector<CheckpointFile>& files);

/// What a layer of that path in that file may be called: its name, and behind it, with the file, the names by which
/// tell_layers_apart has it.
std::vector<std::string> layer_names(const Checkpoint& checkpoint, std::size_t file, std::string_view path);

}  // namespace tare
