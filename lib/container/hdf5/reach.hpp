// What of an HDF5 file is more than numbers: where it leads out of the file, what needs a plugin, what those who read
// it take for documents of their own (Keras's configurations, PyTables's pickles), and bytes that belong to nothing.
#pragma once

#include <memory>
#include <vector>

#include "lib/container/container.hpp"

namespace tare {

/// Follows every link as read_hdf5_tree does, and looks at every message and attribute. What cannot be read is among
/// them, too. Throws `corrupt` where a checksum is wrong.
std::vector<InnerDocument> hdf5_inner_documents(const std::shared_ptr<const Source>& source);

}  // namespace tare
