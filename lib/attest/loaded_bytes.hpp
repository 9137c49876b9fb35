// Functions that load the pickle in the bytes that they are given, and are no more dangerous than these: torch's.
#pragma once

#include <vector>

#include "lib/container/container.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// `pickle.loads` for every use of such a function that hands it anything but bytes that stand in the file, where they
/// are judged: bytes that are computed on loading (of numbers, by a codec), or the function itself to whoever calls it.
std::vector<GlobalName> loads_of_computed_bytes(const Tree& tree);

}  // namespace tare
