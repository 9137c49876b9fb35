// The file's shape:
//
//   /            attributes schema, policy, library, checksum
//   /fields      one dataset a value: scalars, packed arrays; attributes kind, units, role
//   /params  /statistics  /other         the same
//
// or, of several states,
//
//   /            attributes schema, library, checksum
//   /states/0    attributes path, schema, policy; groups as above
//   /states/1 ...
//
// libhdf5 writes it, and never reads it: that lib/codec/hdf5_read does.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "lib/base/bytes.hpp"
#include "lib/codec/hdf5_module/handle.hpp"
#include "lib/codec/hdf5_module/pieces.hpp"
#include "lib/codec/hdf5_table.h"

namespace tare::hdf5 {

inline constexpr const char* section_names[] = {"fields", "params", "statistics", "other"};
inline constexpr std::uint64_t chunk_bytes = 1 << 20;  // at most, but for an element that is larger
inline constexpr H5Z_filter_t zstd_filter = 32015;     // as registered with the HDF Group

/// Makes the zstd filter known to this process's HDF5, unless it is already.
void register_zstd();

/// A file that was made. It points into the entries' data.
struct Encoded {
  Pieces pieces;
  std::deque<Bytes> packed = {};  ///< chunks that pieces lie in
  std::uint64_t size = 0;
};

void encode(const char* schema, std::span<const tare_hdf5_state> states, std::int32_t compression, Encoded& file);

}  // namespace tare::hdf5
