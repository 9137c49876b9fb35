// HDF5: the filters that a chunk's bytes went through when they were written (specification IV.A.2.l).
#pragma once

#include <span>
#include <vector>

#include "lib/hdf5/header.hpp"

namespace tare {

struct Hdf5Filter {
  std::uint64_t number = 0;  ///< as registered with the HDF Group
  std::vector<std::uint32_t> values;
};

/// Of a filter message, in the order in which they were applied.
std::vector<Hdf5Filter> read_hdf5_filters(ByteView message);

/// Undoes deflate, shuffle, Fletcher-32 and zstd. `skipped` has a bit for each filter that was left out. Throws
/// Hdf5NotRead for other filters, and unless exactly `plain.size()` bytes come out.
void undo_hdf5_filters(ByteView packed, const std::vector<Hdf5Filter>& filters, std::uint64_t skipped,
                       std::span<std::byte> plain);

}  // namespace tare
