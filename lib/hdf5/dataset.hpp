// HDF5: datasets, and where their bytes are, whatever their elements are: in one run, or in chunks.
#pragma once

#include <vector>

#include "lib/hdf5/header.hpp"

namespace tare {

bool is_hdf5_dataset(const Hdf5Header& header);

/// Whether a dataset has no elements, not even a shape: a null.
bool is_hdf5_null(const Hdf5Header& header);

/// Where a dataset's elements stand outside its header, by address; none for those in it, and for what was never
/// written. What leads to them is read. Throws Hdf5NotRead for virtual data.
std::vector<Span> read_hdf5_raw_data(Hdf5File& file, const Hdf5Header& header);

/// The bytes of all elements as HDF5 holds them in memory, unpacked. Throws Hdf5NotRead where there are more than a
/// file can hold.
std::uint64_t hdf5_data_size(const Hdf5Header& header);

}  // namespace tare
