// HDF5: where a layout message says that a dataset's elements are (specification IV.A.2.i).
#pragma once

#include <optional>
#include <vector>

#include "lib/hdf5/file.hpp"

namespace tare {

struct Hdf5Layout {
  enum class Form : std::uint8_t { compact, contiguous, chunked, virtual_data };
  /// What leads to the chunks.
  enum class Index : std::uint8_t { btree1, single, implicit, fixed_array, extensible_array, btree2 };

  Form form = Form::compact;
  std::uint64_t begin = 0;  ///< compact: in the message; contiguous: an address; chunked: that of the index
  std::optional<std::uint64_t> size = std::nullopt;  ///< of a contiguous one, where it says
  // ---- chunked
  Index index = Index::btree1;
  std::vector<std::uint64_t> chunk;  ///< elements in each dimension, and behind them the bytes of one
  std::uint64_t packed_size = 0;     ///< of a single chunk that went through filters
  std::uint64_t skipped = 0;         ///< a bit for each filter that the single chunk did not go through
};

/// Throws Hdf5NotRead for a version, a class or an index that is unknown.
Hdf5Layout read_hdf5_layout(ByteView message);

}  // namespace tare
