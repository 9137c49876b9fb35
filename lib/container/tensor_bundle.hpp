// TensorFlow's checkpoint index (`.index`): a LevelDB table whose every block has a CRC-32C.
#pragma once

#include <memory>

#include "lib/container/container.hpp"

namespace tare {

bool ends_like_tensor_bundle(const Source& source);
/// Throws `corrupt` where the footer leads outside the file, a block's checksum is wrong, or the index is none.
std::unique_ptr<Container> open_tensor_bundle(const std::shared_ptr<const Source>& source);

}  // namespace tare
