#include "lib/hdf5/chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "lib/hdf5/btree2.hpp"
#include "lib/hdf5/type.hpp"

namespace tare {
namespace {

constexpr std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void throw_senseless() {
  throw Hdf5NotRead{"a chunked dataset whose index makes no sense"};
}

class ChunkReader {
 public:
  ChunkReader(Hdf5File& file, const Hdf5Header& header, const Hdf5Layout& layout)
      : file_(file), layout_(layout), grid_(largest_shape(header), layout) {
    is_packed_ = header.find(Hdf5MessageType::filters) != nullptr;
    for (const std::uint64_t size : layout.chunk) {
      if (size == 0 || bytes_ > most_bytes / size) throw_senseless();
      bytes_ *= size;
    }
  }

  std::vector<Hdf5Chunk> read() {
    switch (layout_.index) {
      case Hdf5Layout::Index::btree1:
        read_btree1();
        break;
      case Hdf5Layout::Index::single:
        add(0, {layout_.begin, layout_.packed_size != 0 ? layout_.packed_size : bytes_}, layout_.skipped);
        break;
      case Hdf5Layout::Index::implicit:
        read_implicit();
        break;
      case Hdf5Layout::Index::fixed_array:
        read_fixed_array();
        break;
      case Hdf5Layout::Index::extensible_array:
        throw Hdf5NotRead{"a dataset that can grow, whose chunks are in an extensible array"};
      case Hdf5Layout::Index::btree2:
        read_btree2();
        break;
    }
    return std::move(chunks_);
  }

 private:
  static std::vector<std::uint64_t> largest_shape(const Hdf5Header& header) {
    return read_hdf5_largest_shape(header.data(header.require(Hdf5MessageType::dataspace, "dataspace")));
  }

  void add(std::vector<std::uint64_t> at, Span packed, std::uint64_t skipped) {
    file_.source().budget()->take_memory(sizeof(Hdf5Chunk) + at.size() * sizeof at[0]);
    chunks_.push_back({std::move(at), packed, skipped});
  }

  /// The chunk of that number, in C order.
  void add(std::uint64_t number, Span packed, std::uint64_t skipped) {
    std::vector<std::uint64_t> at(grid_.dimensions());
    for (std::size_t i = at.size(); i-- > 0; number /= grid_.along(i)) at[i] = number % grid_.along(i);
    add(std::move(at), packed, skipped);
  }

  void read_btree1() {
    std::vector<std::uint64_t> open{layout_.begin};
    std::unordered_set<std::uint64_t> seen;
    while (!open.empty()) {
      const std::uint64_t address = open.back();
      open.pop_back();
      if (!seen.insert(address).second) throw Hdf5NotRead{"a B-tree of chunks that leads back into itself"};
      read_btree1_node(address, open);
    }
  }

  /// A key has the chunk's size, the filters that were left out, and an offset in each dimension.
  void read_btree1_node(std::uint64_t address, std::vector<std::uint64_t>& open) {
    constexpr std::uint64_t head_size = 24, of_chunks = 1;
    const std::uint64_t key_size = 8 + 8 * layout_.chunk.size();
    const Bytes head = file_.read(address, head_size);
    Hdf5Fields fields(head, "B-tree");
    fields.require_signature("TREE");
    if (fields.number(1) != of_chunks) throw Hdf5NotRead{"a B-tree that is not of chunks"};
    const bool is_leaf = fields.number(1) == 0;
    const std::uint64_t count = fields.number(2);
    const Bytes entries = file_.read(address + head_size, count * (key_size + hdf5_address_size) + key_size);
    Hdf5Fields entry(entries, "B-tree");
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t size = entry.number(4);
      const std::uint64_t skipped = entry.number(4);
      std::vector<std::uint64_t> at;
      for (std::size_t k = 0; k < grid_.dimensions(); ++k) {
        const std::uint64_t offset = entry.number(8);
        if (is_leaf && offset % layout_.chunk[k] != 0) throw_senseless();
        at.push_back(offset / layout_.chunk[k]);
      }
      entry.skip(8);
      const std::uint64_t child = entry.address();
      is_leaf ? add(std::move(at), {child, size}, skipped) : open.push_back(child);
    }
  }

  /// All chunks stand one after the other.
  void read_implicit() {
    if (grid_.count() > file_.left(layout_.begin) / bytes_) throw_senseless();
    for (std::uint64_t i = 0; i < grid_.count(); ++i) add(i, {layout_.begin + i * bytes_, bytes_}, 0);
  }

  struct Place {
    Span packed;
    std::uint64_t skipped = 0;
  };

  /// An address; where chunks are packed also their size and the filters that were left out.
  Place read_place(Hdf5Fields& fields, std::uint64_t size_size) const {
    Place place{{fields.address(), bytes_}};
    if (!is_packed_) return place;
    place.packed.size = fields.number(size_size);
    place.skipped = fields.number(4);
    return place;
  }

  /// Of the field that says how large a packed chunk is, where an element of the index has so many bytes.
  [[nodiscard]] std::uint64_t size_of_size(std::uint64_t element_size, std::uint64_t around) const {
    const std::uint64_t size = element_size < around ? 0 : element_size - around;
    if (is_packed_ ? size < 1 || size > 8 : element_size + 4 != around) throw_senseless();
    return size;
  }

  void read_fixed_array() {
    constexpr std::uint64_t head_size = 28, prefix_size = 14, most_page_bits = 32;
    const Bytes head = file_.read(layout_.begin, head_size);
    Hdf5Fields fields(head, "fixed array");
    fields.require_signature("FAHD");
    file_.require_checksum(head, layout_.begin, "fixed array");
    fields.skip(2);
    const std::uint64_t element_size = fields.number(1);
    const std::uint64_t page_bits = fields.number(1);
    const std::uint64_t count = fields.length();
    std::uint64_t begin = fields.address();
    if (begin == hdf5_no_address) return;
    if (count > grid_.count() || page_bits > most_page_bits) throw_senseless();
    const std::uint64_t size_size = size_of_size(element_size, hdf5_address_size + 4);
    const std::uint64_t in_page = std::uint64_t{1} << page_bits;
    if (count <= in_page) return read_elements(begin, prefix_size, {0, count}, element_size, size_size);
    const std::uint64_t pages = (count + in_page - 1) / in_page;
    const Bytes block = file_.read(begin, prefix_size + (pages + 7) / 8 + hdf5_checksum_size);
    file_.require_checksum(block, begin, "fixed array");
    begin += block.size();
    for (std::uint64_t page = 0; page < pages; ++page, begin += in_page * element_size + hdf5_checksum_size) {
      const bool is_written = (block[prefix_size + page / 8] & std::byte{0x80} >> page % 8) != std::byte{0};
      const Span numbers{page * in_page, std::min(in_page, count - page * in_page)};
      if (is_written) read_elements(begin, 0, numbers, element_size, size_size);
    }
  }

  /// A block of elements behind a prefix, with a checksum at its end. `numbers`: of their chunks.
  void read_elements(std::uint64_t address, std::uint64_t prefix, Span numbers, std::uint64_t element_size,
                     std::uint64_t size_size) {
    const Bytes block = file_.read(address, prefix + numbers.size * element_size + hdf5_checksum_size);
    file_.require_checksum(block, address, "fixed array");
    Hdf5Fields elements(block, "fixed array");
    elements.skip(prefix);
    for (std::uint64_t i = 0; i < numbers.size; ++i) {
      const auto [packed, skipped] = read_place(elements, size_size);
      if (packed.offset != hdf5_no_address) add(numbers.offset + i, packed, skipped);
    }
  }

  void read_btree2() {
    const auto type = is_packed_ ? Hdf5RecordType::packed_chunk : Hdf5RecordType::chunk;
    const Hdf5Records records = read_hdf5_records(file_, layout_.begin, type);
    const std::uint64_t around = hdf5_address_size + 4 + 8 * grid_.dimensions();
    const std::uint64_t size_size = size_of_size(records.record_size, around);
    for (std::size_t i = 0; i < records.count(); ++i) {
      Hdf5Fields record(records.at(i), "B-tree");
      const auto [packed, skipped] = read_place(record, size_size);
      std::vector<std::uint64_t> at(grid_.dimensions());
      for (std::uint64_t& along : at) along = record.number(8);
      add(std::move(at), packed, skipped);
    }
  }

  Hdf5File& file_;
  const Hdf5Layout& layout_;
  Hdf5Grid grid_;
  bool is_packed_ = false;
  std::uint64_t bytes_ = 1;  ///< of a chunk
  std::vector<Hdf5Chunk> chunks_;
};

}  // namespace

Hdf5Grid::Hdf5Grid(const std::vector<std::uint64_t>& sizes, const Hdf5Layout& layout) {
  if (layout.chunk.size() != sizes.size() + 1) throw_senseless();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (layout.chunk[i] == 0) throw_senseless();
    const std::uint64_t along = sizes[i] / layout.chunk[i] + (sizes[i] % layout.chunk[i] != 0 ? 1 : 0);
    counts_.push_back(std::max<std::uint64_t>(along, 1));
    count_ = along != 0 && count_ > most_bytes / along ? most_bytes : count_ * along;
  }
}

std::vector<Hdf5Chunk> read_hdf5_chunks(Hdf5File& file, const Hdf5Header& header, const Hdf5Layout& layout) {
  return ChunkReader(file, header, layout).read();
}

}  // namespace tare
