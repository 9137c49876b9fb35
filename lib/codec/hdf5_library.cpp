#include "lib/codec/hdf5_library.hpp"

#include "lib/base/module.hpp"

namespace tare {

const tare_hdf5_table& hdf5_library() {
  static ModuleTable<tare_hdf5_table> table;
  return table.get(
      {"libtare_hdf5.so", TARE_HDF5_ENTRY_POINT, TARE_RELEASE, "Install it beside libtare, or keep states as JSON."});
}

}  // namespace tare
