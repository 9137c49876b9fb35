// A TensorFlow checkpoint ("tensor bundle"): an index and its data files. tf.train.Checkpoint, tf.train.Saver, Keras's
// save_weights and the variables of a SavedModel are all such. The names of variables become nested maps.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"
#include "lib/container/tensorflow/tensor_bundle_index.hpp"

namespace tare {

/// One flag an item: whether to read it. Nothing is read of the others.
using BundleChoice = std::function<std::vector<bool>(const BundleIndex&)>;

/// `name` is the index's. What cannot be read of the chosen items is told in the findings (`file-not-read`,
/// `item-not-read`), as is what TensorFlow would not load (`crc-mismatch`), each with its part as `file`. Throws what
/// read_bundle_index throws.
std::unique_ptr<Container> open_tensor_bundle(const std::shared_ptr<const SourceFolder>& folder,
                                              const std::string& name, const BundleChoice& choose);

}  // namespace tare
