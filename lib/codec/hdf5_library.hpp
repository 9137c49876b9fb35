// Finds and opens libtare_hdf5.so.
#pragma once

#include "lib/codec/hdf5_table.h"

namespace tare {

/// Opened on the first call and then kept: libhdf5 cannot be unloaded safely. Looked for beside the library or command
/// that this code is part of, then in `tare/` and `../lib/` from there. Throws `unsupported` where it cannot be had.
const tare_hdf5_table& hdf5_library();

}  // namespace tare
