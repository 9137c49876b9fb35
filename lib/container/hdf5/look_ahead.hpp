// Groups of an HDF5 file that lies far away: each page of metadata that reading them asks for would be a round trip,
// and tells where the next one is.
#pragma once

#include <span>

#include "lib/hdf5/header.hpp"

namespace tare {

/// Fetches the pages with the links of these groups, and those with the headers that the links lead to, of all groups
/// at the same time. Nothing where the file is not distant. What is wrong with a group is for whoever reads it to tell.
/// Throws as DistantSource::fetch_ahead.
void look_ahead(const Hdf5File& file, std::span<const Hdf5Header* const> groups);

}  // namespace tare
