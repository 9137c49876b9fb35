// Layers of one name in several files: the stages of a pipeline may each count their layers from 0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"

namespace tare {

/// Notes in FP8 states which file each is in, where there are several of one name.
void tell_layers_apart(std::vector<Scaler>& scalers, const std::vector<CheckpointFile>& files);

/// What layers may be called.
class LayerNames {
 public:
  /// REQUIRES: `checkpoint` lives as long as this does.
  explicit LayerNames(const Checkpoint& checkpoint);
  /// Of a layer of that path in that file: its name, and behind it, with the file, the names by which tell_layers_apart
  /// has it.
  [[nodiscard]] std::vector<std::string> of(std::size_t file, std::string_view path) const;

 private:
  const Checkpoint& checkpoint_;
  std::size_t folder_;  ///< how long the folder is that all files lie in
};

}  // namespace tare
