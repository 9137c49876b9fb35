// HDF5: the superblock, where everything starts (specification II.A).
#pragma once

#include <cstdint>
#include <optional>

#include "lib/hdf5/file.hpp"

namespace tare {

bool starts_like_hdf5(ByteView head);
/// Where a superblock stands: at 0 or, behind a block of the user's, at 512 and every doubling of it; none: nowhere.
/// Some reads of a few bytes.
std::optional<std::uint64_t> hdf5_superblock_offset(const Source& source);
/// Whether a superblock stands at the start or behind a block of the user's, as MATLAB's files have one of 512 bytes.
bool has_hdf5_behind(const Source& source);

/// Addresses; hdf5_no_address where there is no such thing.
struct Hdf5Superblock {
  std::uint64_t root = hdf5_no_address;        ///< of the root group's object header
  std::uint64_t end = 0;                       ///< where HDF5's bytes end
  std::uint64_t free_space = hdf5_no_address;  ///< of a list of what is free
  std::uint64_t driver = hdf5_no_address;      ///< of what a driver of several files wrote
  std::uint64_t extension = hdf5_no_address;   ///< of an object header with more of the superblock
};

/// Finds and reads the superblock, versions 0 to 3; where it stands is `file`'s base address. Throws `corrupt` where
/// the file is cut short or the checksum is wrong, `unsupported` for addresses of other than 8 bytes, which no
/// checkpoint has.
Hdf5Superblock read_hdf5_superblock(Hdf5File& file);

}  // namespace tare
