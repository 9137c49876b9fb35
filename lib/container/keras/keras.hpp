// Keras 3's `.keras`: a zip of metadata.json, config.json and the weights as HDF5 or npz.
#pragma once

#include <memory>

#include "lib/container/container.hpp"
#include "lib/container/zip/zip.hpp"

namespace tare {

bool is_keras(const ZipArchive& archive);
/// The tree of the weights; a patch mends the member's CRC-32. Throws `refused` for a member that is a bomb, and what
/// the weights' own reader throws.
std::unique_ptr<Container> open_keras(std::unique_ptr<const ZipArchive> archive);

}  // namespace tare
