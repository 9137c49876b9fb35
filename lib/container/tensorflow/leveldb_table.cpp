// The layout: data blocks, a metaindex block, an index block, a footer. A block is followed by a type byte and the
// masked CRC-32C of both. The footer has the places of both index blocks (offset and size as varints), padding and a
// magic number. The index block's values are the places of data blocks. In a block a row is three varints (how many
// bytes of the key are those of the key before, how many follow, how long the value is), the rest of the key and the
// value; behind the rows are the offsets of those that share nothing, and their number.
#include "lib/container/tensorflow/leveldb_table.hpp"

#include <fmt/format.h>

#include "lib/base/crc32c.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/varint.hpp"

namespace tare {
namespace {

constexpr std::uint64_t footer_size = 48;
constexpr std::uint64_t magic_size = 8;
constexpr std::uint64_t type_size = 1;
constexpr std::uint64_t trailer_size = type_size + sizeof(std::uint32_t);
constexpr std::uint64_t table_magic = 0xdb4775248b80fb57;
/// As large as any directory may be.
constexpr std::uint64_t max_table_bytes = limits::max_zip_directory_bytes;

class TableReader {
 public:
  explicit TableReader(const Source& source) : name_(source.name()), budget_(source.budget()) {
    if (!ends_like_leveldb_table(source)) fail("it does not end like one");
    if (source.size() > max_table_bytes) fail(fmt::format("{} bytes are more than any index has", source.size()));
    all_ = source.read({0, source.size()});
    bytes_ = all_;
    end_ = all_.size() - footer_size;
  }

  LeveldbTable read() {
    ByteView handles = bytes_.subspan(end_, footer_size - magic_size);
    take_place(handles);  // of the metaindex, which says nothing of the rows
    const Span index = checked_block(take_place(handles));
    std::vector<Row> blocks;
    read_rows(index, blocks);
    for (const Row& row : blocks) {
      ByteView handle = bytes_.subspan(row.value.offset, row.value.size);
      const Span block = checked_block(take_place(handle));
      if (!handle.empty()) fail("an index row that is no block's place");
      if (!table_.blocks.empty() && block.offset < table_.blocks.back().end()) fail("blocks that overlap");
      table_.blocks.push_back({block.offset, block.size + type_size});
      read_rows(block, table_.rows);
    }
    table_.file = std::make_shared<const MemorySource>(name_, std::move(all_), budget_);
    return std::move(table_);
  }

 private:
  using Row = LeveldbTable::Row;

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Status::corrupt, fmt::format("{}: LevelDB table: {}", name_, problem),
                "the file is damaged; take another copy");
  }

  Span take_place(ByteView& from) const {
    const auto offset = take_varint(from);
    const auto size = take_varint(from);
    if (!offset || !size) fail("a block's place that is none");
    return {*offset, *size};
  }

  [[nodiscard]] Span checked_block(Span place) const {
    if (place.offset > end_ || place.size > end_ - place.offset || end_ - place.offset - place.size < trailer_size) {
      fail(fmt::format("a block of {} bytes at offset {}", place.size, place.offset));
    }
    const ByteView covered = bytes_.subspan(place.offset, place.size + type_size);
    if (load_le<std::uint32_t>(covered.data() + covered.size()) != masked_crc32c(covered)) {
      fail(fmt::format("the checksum of the block at offset {} is wrong", place.offset));
    }
    if (covered.back() != std::byte{0}) {
      throw Error(Status::unsupported,
                  fmt::format("{}: the block at offset {} of this LevelDB table is compressed", name_, place.offset),
                  "TensorFlow writes none that are; save the checkpoint again with it");
    }
    return place;
  }

  /// Where the rows of a block end and its restart points begin.
  [[nodiscard]] std::uint64_t rows_end(Span block) const {
    constexpr std::uint64_t word = sizeof(std::uint32_t);
    if (block.size < word) fail("a block without restart points");
    const std::uint64_t restarts = load_le<std::uint32_t>(bytes_.data() + block.end() - word);
    if (restarts > (block.size - word) / word) fail("a block without restart points");
    return block.end() - word - word * restarts;
  }

  void read_rows(Span block, std::vector<Row>& into) {
    const std::uint64_t end = rows_end(block);
    ByteView rest = bytes_.subspan(block.offset, end - block.offset);
    std::string key;
    while (!rest.empty()) {
      const auto shared = take_varint(rest);
      const auto own = take_varint(rest);
      const auto size = take_varint(rest);
      if (!shared || !own || !size || *shared > key.size() || *own > rest.size() || *size > rest.size() - *own) {
        fail("a row that passes its block");
      }
      key.resize(*shared);
      key += as_text(rest.first(*own));
      budget_->take_memory(sizeof(Row) + key.size());  // longer than what is stored: keys share their beginnings
      if (!into.empty() && key <= into.back().key) fail("keys that are not in order");
      into.push_back({key, {end - rest.size() + *own, *size}, table_.blocks.empty() ? 0 : table_.blocks.size() - 1});
      rest = rest.subspan(*own + *size);
    }
  }

  std::string name_;
  std::shared_ptr<Budget> budget_;
  Bytes all_;
  ByteView bytes_;         ///< the same
  std::uint64_t end_ = 0;  ///< of all blocks: where the footer starts
  LeveldbTable table_;
};

}  // namespace

bool ends_like_leveldb_table(const Source& source) {
  if (source.size() < footer_size) return false;
  const Bytes end = source.read({source.size() - magic_size, magic_size});
  return load_le<std::uint64_t>(end.data()) == table_magic;
}

LeveldbTable read_leveldb_table(const Source& source) {
  return TableReader(source).read();
}

}  // namespace tare
