// Zips of frameworks that look members up by name (Keras, numpy): what would make two readers see different things.
#pragma once

#include <vector>

#include "lib/container/zip.hpp"

namespace tare {

/// Warnings about names that lead out of a folder, names that are there twice, and small members whose CRC is wrong.
/// Throws `refused` for a member that unpacks to far more than it takes.
std::vector<Finding> check_members(const ZipArchive& archive);

}  // namespace tare
