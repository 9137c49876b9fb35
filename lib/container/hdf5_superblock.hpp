// HDF5: the superblock, where everything starts (specification II.A).
#pragma once

#include "lib/container/hdf5_file.hpp"

namespace tare {

bool starts_like_hdf5(ByteView head);

/// Reads the superblock, versions 0 to 3, and tells `file` its base address. Returns the address of the root group's
/// object header. Throws `corrupt` where the file is cut short or the checksum is wrong, `unsupported` for addresses of
/// other than 8 bytes, which no checkpoint has.
std::uint64_t read_hdf5_superblock(Hdf5File& file);

}  // namespace tare
