// The state as an HDF5 file's bytes, through libtare_hdf5.so: opened on first use, so that whoever loads libtare does
// not get libhdf5 and its forty libraries with it.
#pragma once

#include <string>

#include "lib/base/bytes.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

enum class Compression { none, gzip, zstd };

/// Throws `unsupported` where the module is not there or of another release, and for a state that HDF5 cannot hold.
Bytes state_to_hdf5(const ScalerState& state, Compression compression);

/// Whether these bytes begin as HDF5 files do.
bool is_hdf5(ByteView bytes);

/// `name` is for messages. Only a file that tare wrote is read, under a right checksum. Throws as state_from_json does.
ScalerState state_from_hdf5(ByteView bytes, const std::string& name);

}  // namespace tare
