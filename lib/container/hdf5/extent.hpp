// HDF5: which bytes of a file belong to something that is reached from its superblock. What else there is, was left by
// somebody: an object that was deleted, or something for another reader.
#pragma once

#include <string>
#include <vector>

#include "lib/base/source.hpp"

namespace tare {

/// In words, at most a few: runs of bytes between `used` that are not zeros (which is room that HDF5 left), and all
/// that stand behind `end`. Reads what is between.
std::vector<std::string> hdf5_unused_bytes(const Source& source, std::vector<Span> used, std::uint64_t end);

}  // namespace tare
