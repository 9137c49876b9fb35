// HDF5: B-trees of version 2, of which all records are wanted (specification III.A.2).
#pragma once

#include "lib/hdf5/file.hpp"

namespace tare {

/// What the records of a tree are.
enum class Hdf5RecordType : std::uint8_t {
  link_by_name = 5,
  link_by_order = 6,
  chunk = 10,
  packed_chunk = 11,
};

/// Records of one size, one after the other, in the order of the tree.
struct Hdf5Records {
  Bytes bytes;
  std::size_t record_size = 0;

  [[nodiscard]] std::size_t count() const { return bytes.size() / record_size; }
  /// REQUIRES: index < count().
  [[nodiscard]] ByteView at(std::size_t index) const {
    return ByteView(bytes).subspan(index * record_size, record_size);
  }
};

/// Throws Hdf5NotRead for a tree of something else, `corrupt` where a checksum is wrong.
Hdf5Records read_hdf5_records(Hdf5File& file, std::uint64_t address, Hdf5RecordType type);

}  // namespace tare
