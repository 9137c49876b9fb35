// The checksum of HDF5's metadata: Bob Jenkins' lookup3 (hashlittle, initial value 0), in the public domain.
#pragma once

#include <cstdint>

#include "lib/base/bytes.hpp"

namespace tare {

std::uint32_t hdf5_checksum(ByteView bytes);

}  // namespace tare
