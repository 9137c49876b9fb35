// A dataset's values as they are stored: in one piece, or in chunks that filters have packed.
#pragma once

#include <span>

#include "lib/codec/hdf5_module/object.hpp"

namespace tare::hdf5 {

/// What unpacking took off a chunk's bytes: those filters that tare puts on them.
struct Filters {
  std::int32_t packing = TARE_HDF5_NONE;  ///< shuffled first, where it is not none
};
Filters read_filters(const Object& dataset);

/// The values of a chunk. `skipped` has a bit for each filter that was left out: the shuffling, the packing. Throws
/// `corrupt` unless they are exactly `size` bytes.
void unpack_chunk(ByteView packed, Filters filters, std::uint64_t skipped, std::uint64_t element_bytes,
                  std::span<std::byte> values, const std::string& place);

/// All values of a dataset, `bytes` of them. Throws `corrupt` where not every one is stored: nothing is filled in, so
/// that no small file unpacks to much.
Bytes read_values(Image& image, const Object& dataset, const Shape& shape, std::uint64_t element_bytes,
                  std::uint64_t bytes);

}  // namespace tare::hdf5
