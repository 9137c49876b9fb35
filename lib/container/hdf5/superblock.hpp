// HDF5: the superblock, where everything starts (specification II.A).
#pragma once

#include "lib/container/hdf5/file.hpp"

namespace tare {

bool starts_like_hdf5(ByteView head);
/// Whether a superblock stands behind a block of the user's, as MATLAB's files have one of 512 bytes.
bool has_hdf5_behind(const Source& source);

/// Finds and reads the superblock, versions 0 to 3; where it stands is `file`'s base address. Returns the address of
/// the root group's object header. Throws `corrupt` where the file is cut short or the checksum is wrong, `unsupported`
/// for addresses of other than 8 bytes, which no checkpoint has.
std::uint64_t read_hdf5_superblock(Hdf5File& file);

}  // namespace tare
