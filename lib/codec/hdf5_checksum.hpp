// What an HDF5 state file says of itself in its first bytes: the root's attributes hold the schema and a CRC-32 of the
// whole file.
#pragma once

#include <string>

#include "lib/base/bytes.hpp"

namespace tare {

/// Fills in the blank checksum that the module left. REQUIRES: bytes as the module made them.
void put_hdf5_checksum(Bytes& bytes);

/// Throws `corrupt` unless the head names our schema and a right checksum; `unsupported` for a newer schema, whatever
/// the checksum: a newer tare may have another.
void check_hdf5_head(ByteView bytes, const std::string& name);

}  // namespace tare
