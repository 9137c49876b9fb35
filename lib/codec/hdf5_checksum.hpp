// The checksum of an HDF5 state file: a CRC-32 of the whole of it, in an attribute of the root.
#pragma once

#include <string>

#include "lib/base/bytes.hpp"

namespace tare {

/// Puts in the checksum where there is a place for it: after the module wrote the file, or anew.
void put_hdf5_checksum(Bytes& bytes);

/// Throws `corrupt` unless a checksum is there and right.
void require_hdf5_checksum(ByteView bytes, const std::string& name);

}  // namespace tare
