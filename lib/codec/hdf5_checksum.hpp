// What an HDF5 state file says of itself in its first bytes, looked at before libhdf5 is: libhdf5 falls over damaged
// files. The root's attributes hold the schema and a CRC-32 of the whole file.
#pragma once

#include <string>

#include "lib/base/bytes.hpp"

namespace tare {

/// Fills in the blank checksum that the module left. REQUIRES: bytes as the module made them.
void put_hdf5_checksum(Bytes& bytes);

/// Throws `corrupt` unless the head names our schema and the checksum, where there is one, is right; `unsupported` for
/// a newer schema.
void check_hdf5_head(ByteView bytes, const std::string& name);

}  // namespace tare
