// numpy's `.npz`: a zip of `.npy` arrays.
#pragma once

#include <memory>

#include "lib/container/container.hpp"
#include "lib/container/zip/zip.hpp"

namespace tare {

bool is_npz(const ZipArchive& archive);
/// The arrays under their names, slashes and dots of which are levels. Stored ones are patched in place, with their
/// CRC-32; a compressed one is appended anew, stored. Throws `refused` for a member that is a bomb.
std::unique_ptr<Container> open_npz(std::unique_ptr<const ZipArchive> archive);

}  // namespace tare
