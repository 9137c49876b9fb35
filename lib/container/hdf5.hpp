// HDF5, as far as it can be told to be whole: the superblock, the end of the file, and the checksums of the object
// headers that the root group leads to. libhdf5 is not used: it is not made for files of strangers.
#pragma once

#include <memory>

#include "lib/container/container.hpp"

namespace tare {

bool starts_like_hdf5(ByteView head);
/// Throws `corrupt` where the file is cut short or a checksum is wrong.
std::unique_ptr<Container> open_hdf5(const std::shared_ptr<const Source>& source);

}  // namespace tare
