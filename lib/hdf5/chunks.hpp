// HDF5: the chunks of a dataset, whatever leads to them (specification III.A.1, III.A.2, VII).
#pragma once

#include <vector>

#include "lib/hdf5/header.hpp"
#include "lib/hdf5/layout.hpp"

namespace tare {

/// Chunks beside each other in each dimension, the ones at the edges reaching over them.
class Hdf5Grid {
 public:
  /// Throws Hdf5NotRead where chunks have other dimensions than the dataset, or one is empty.
  Hdf5Grid(const std::vector<std::uint64_t>& sizes, const Hdf5Layout& layout);

  /// All that the dataset can have; as many as fit a number, if there are more.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::size_t dimensions() const { return counts_.size(); }
  [[nodiscard]] std::uint64_t along(std::size_t dimension) const { return counts_[dimension]; }

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 1;
};

struct Hdf5Chunk {
  std::vector<std::uint64_t> at;  ///< which chunk in each dimension
  Span packed;                    ///< its bytes as they are stored, by address
  std::uint64_t skipped = 0;      ///< a bit for each filter that it did not go through
};

/// Those that were written. What leads to them is read. REQUIRES: a chunked layout with an index. Throws Hdf5NotRead
/// for an extensible array, and where the index makes no sense.
std::vector<Hdf5Chunk> read_hdf5_chunks(Hdf5File& file, const Hdf5Header& header, const Hdf5Layout& layout);

}  // namespace tare
