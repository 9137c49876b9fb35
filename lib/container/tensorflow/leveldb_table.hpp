// A table of LevelDB: sorted keys with their values, in blocks that each have a CRC-32C. LevelDB's own reader tells the
// values and not where they stand in the file, which an edit in place needs; of its format this reads what is written
// without compression. Source: doc/table_format.md of LevelDB.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/source.hpp"

namespace tare {

struct LeveldbTable {
  struct Row {
    std::string key;
    Span value;             ///< in the file
    std::size_t block = 0;  ///< of `blocks`
  };

  std::shared_ptr<const Source> file;  ///< all of it, in memory
  std::vector<Span> blocks;            ///< of data: what their checksums cover. Those follow, masked, in four bytes
  std::vector<Row> rows;               ///< by key; each key once
};

/// Does the file end as such tables do?
bool ends_like_leveldb_table(const Source& source);

/// Reads all of it: tables are directories of what lies elsewhere. Throws `corrupt` where a place leads outside the
/// file, a block's checksum is wrong or keys are not in order; `unsupported` where a block is compressed.
LeveldbTable read_leveldb_table(const Source& source);

}  // namespace tare
