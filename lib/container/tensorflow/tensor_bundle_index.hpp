// The index of a TensorFlow checkpoint (`.index`): a LevelDB table that says of each tensor what it is, in which of the
// data files, where, and with which checksum. Source: tensorflow/core/protobuf/tensor_bundle.proto and
// tensorflow/core/util/tensor_bundle.
#pragma once

#include <string>
#include <vector>

#include "lib/container/tensorflow/leveldb_table.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

struct BundleItem {
  std::string key;   ///< the variable's name, its parts joined by dots: "optimizer.loss_scale.good_steps"
  ElementType type;  ///< of size 0 for those without numbers (strings, variants)
  std::vector<std::int64_t> shape;
  std::uint64_t shard = 0;  ///< which of the data files
  Span place;               ///< there
  std::uint32_t crc = 0;    ///< masked CRC-32C of those bytes
  Span crc_place;           ///< in the index; empty where none is stored, which means 0
  std::size_t block = 0;    ///< of the table's: whose checksum covers the row
  bool is_sliced = false;   ///< a partitioned variable: its pieces are items of their own
};

struct BundleIndex {
  LeveldbTable table;
  std::uint64_t shards = 0;  ///< how many data files there are
  std::vector<BundleItem> items;
};

/// Throws what read_leveldb_table throws, `corrupt` for a table that is no bundle's, and `unsupported` for a bundle of
/// a big-endian machine.
BundleIndex read_bundle_index(const Source& source);

/// "ckpt-1.data-00000-of-00002" for "ckpt-1.index"
std::string bundle_data_name(const std::string& index_name, std::uint64_t shard, std::uint64_t shards);

}  // namespace tare
