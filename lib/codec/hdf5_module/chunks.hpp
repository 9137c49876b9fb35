// Values in chunks, packed before libhdf5 gets them: on several threads, which it has none of.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/codec/hdf5_table.h"

namespace tare::hdf5 {

inline constexpr unsigned zstd_level = 1;
inline constexpr unsigned gzip_level = 4;

/// Chunks of about a mebibyte, whole in the later dimensions: a row is read with one chunk, and a chunk is a run of
/// values.
struct ChunkGrid {
  /// REQUIRES: an entry of one dimension at least.
  ChunkGrid(const tare_hdf5_entry& entry, std::uint64_t element_bytes);

  [[nodiscard]] std::uint64_t count() const;
  /// The first value of a chunk, in each dimension.
  [[nodiscard]] std::vector<hsize_t> begin_of(std::uint64_t number) const;
  /// Where its values stand among all, in bytes. At an edge they are fewer than the chunk has room for.
  [[nodiscard]] Span values_of(std::uint64_t number) const;
  [[nodiscard]] std::uint64_t chunk_size() const;

  std::vector<hsize_t> shape;
  std::vector<hsize_t> chunk;
  std::uint64_t element_bytes;
};

/// Adds each chunk as a file has it: shuffled, then packed by that compression.
void pack_chunks(const ChunkGrid& grid, std::span<const std::byte> values, std::int32_t compression,
                 std::deque<Bytes>& into);

}  // namespace tare::hdf5
