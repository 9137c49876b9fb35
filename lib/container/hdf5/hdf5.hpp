// HDF5, as Keras and others write checkpoints: a reader of our own of what they use. libhdf5 is not: it is not made for
// files of strangers.
#pragma once

#include <memory>

#include "lib/container/container.hpp"
#include "lib/hdf5/superblock.hpp"

namespace tare {

/// Groups as maps, datasets as tensors (see tree.hpp). Values are patched where they are; a header that holds one
/// gets a new checksum. Throws `corrupt` where the file is cut short or a checksum is wrong.
std::unique_ptr<Container> open_hdf5(const std::shared_ptr<const Source>& source);

}  // namespace tare
