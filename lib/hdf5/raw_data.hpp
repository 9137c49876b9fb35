// HDF5: the bytes of datasets, whatever their elements are: in one run, or in chunks that a B-tree leads to
// (specification III.A.1, node type 1).
#pragma once

#include <vector>

#include "lib/hdf5/header.hpp"

namespace tare {

/// Where a dataset's elements stand outside its header, by address; none for those in it, and for what was never
/// written. The nodes of the B-tree are read. Throws Hdf5NotRead for virtual data and for chunks that another index
/// leads to.
std::vector<Span> read_hdf5_raw_data(Hdf5File& file, const Hdf5Header& header);

/// The bytes of all elements as HDF5 holds them in memory, unpacked. Throws Hdf5NotRead where there are more than a
/// file can hold.
std::uint64_t hdf5_data_size(const Hdf5Header& header);

/// The numbers of the filters that a filter message names.
std::vector<std::uint64_t> read_hdf5_filters(ByteView message);

}  // namespace tare
