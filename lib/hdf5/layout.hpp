// HDF5: where a layout message says that a dataset's elements are (specification IV.A.2.i).
#pragma once

#include "lib/hdf5/file.hpp"

namespace tare {

struct Hdf5Layout {
  enum class Form : std::uint8_t { compact, contiguous, chunked, virtual_data };
  Form form = Form::compact;
  std::uint64_t begin = 0;  ///< compact: in the message; contiguous: an address; chunked: that of the chunks' B-tree
  std::uint64_t dimensions = 0;  ///< chunked: of the B-tree's keys; 0 for the indexes of HDF5 1.10, which are not read
};

/// Throws Hdf5NotRead for a version or a class that is unknown.
Hdf5Layout read_hdf5_layout(ByteView message);

}  // namespace tare
