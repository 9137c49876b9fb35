// HDF5: all values of a dataset, however it stores them.
#pragma once

#include "lib/hdf5/header.hpp"

namespace tare {

/// The elements in C order, as the file has them. Throws Hdf5NotRead where they, or a chunk of them, are more than
/// `max_bytes`, where not every one is stored (nothing is filled in, so that no small file unpacks to much), and for
/// data that are in other files. REQUIRES: is_hdf5_dataset(header), and no null.
Bytes read_hdf5_values(Hdf5File& file, const Hdf5Header& header, std::uint64_t max_bytes);
/// The same, to where they are wanted. REQUIRES: hdf5_data_size(header) bytes.
void read_hdf5_values(Hdf5File& file, const Hdf5Header& header, std::span<std::byte> to);

}  // namespace tare
