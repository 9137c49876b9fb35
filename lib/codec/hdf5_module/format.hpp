// The file's shape, shared by writer and reader:
//
//   /            attributes schema, policy, library, checksum
//   /fields      one dataset a value: scalars, packed arrays; attributes kind, units, role
//   /params  /statistics  /other         the same
//
// libhdf5 writes it, and never reads it: image, object, group and values read the few structures that it then has.
#pragma once

#include <cstdint>
#include <string>

#include "lib/codec/hdf5_module/handle.hpp"
#include "lib/codec/hdf5_table.h"

namespace tare::hdf5 {

inline constexpr const char* section_names[] = {"fields", "params", "statistics", "other"};
inline constexpr std::uint64_t chunk_bytes = 1 << 20;  // at most, but for an element that is larger
inline constexpr H5Z_filter_t zstd_filter = 32015;     // as registered with the HDF Group

/// Makes the zstd filter known to this process's HDF5, unless it is already.
void register_zstd();

/// A link's name for any name: '/', '%' and names of dots alone are written as %XX.
std::string link_name(const std::string& name);
std::string name_of_link(const std::string& link);

/// In memory and in the file. REQUIRES: not TARE_HDF5_NULL.
Handle type_of(std::int32_t element, std::uint64_t width);

void encode(const char* schema, const char* policy, const tare_hdf5_entry* entries, std::uint64_t count,
            std::int32_t compression, void (*take)(void*, const void*, std::uint64_t), void* context);
void decode(const void* bytes, std::uint64_t size, std::uint64_t max_bytes, const tare_hdf5_sink& sink);

}  // namespace tare::hdf5
