// More links than a header holds: they lie in a fractal heap, and a version 2 B-tree says where, in the order in which
// they were made.
#include <bit>

#include "lib/codec/hdf5_module/group.hpp"

namespace tare::hdf5 {
namespace {

constexpr std::size_t node_head = 6;  // signature, version, kind
constexpr std::size_t checksum_size = 4;
constexpr std::size_t record_size = 15;  // the order and the heap's id of a link
constexpr std::size_t node_size = 512;
constexpr std::uint64_t by_order = 6;
constexpr std::uint64_t max_depth = 4;
// The heap's blocks stand in rows of four; each row but the second has blocks of twice the size, the largest of which
// are direct. What is larger is a table of blocks in its turn.
constexpr std::uint64_t blocks_in_row = 4;
constexpr std::uint64_t smallest_block = 512;
constexpr std::uint64_t largest_block = 65536;
constexpr std::uint64_t max_rows = 32;

std::size_t bytes_for(std::uint64_t number) {
  return (std::bit_width(number) + 7) / 8;
}

/// The records of a tree by order.
class Index {
 public:
  Index(Image& image, const std::string& place) : image_(image), place_(place) {}

  std::vector<ByteView> read(std::uint64_t address) {
    Fields head = image_.metadata(address, 38, place_);
    head.require("BTHD");
    head.require(1, 0, "a tree of version");
    head.require(1, by_order, "a tree of kind");
    head.require(4, node_size, "nodes of bytes:");
    head.require(2, record_size, "records of bytes:");
    const std::uint64_t depth = head.number(2);
    head.skip(2);
    const std::uint64_t root = head.address();
    const std::uint64_t count = head.number(2);
    if (depth > max_depth) refuse(place_, "a tree of depth " + std::to_string(depth));
    measure(depth);
    if (root != no_address) read_node(root, count, depth);
    return std::move(records_);
  }

 private:
  /// Bytes of the pointers at each depth: they say how many records are below, in as few bytes as the most need.
  void measure(std::uint64_t depth) {
    const std::uint64_t in_leaf = (node_size - node_head - checksum_size) / record_size;
    count_size_ = bytes_for(in_leaf);
    std::uint64_t below = in_leaf;
    total_sizes_ = {0, 0};
    for (std::uint64_t level = 1; level < depth; ++level) {
      const std::uint64_t pointer = 8 + count_size_ + total_sizes_[level];
      const std::uint64_t here = (node_size - node_head - checksum_size - pointer) / (record_size + pointer);
      below = (here + 1) * below + here;
      total_sizes_.push_back(bytes_for(below));
    }
  }

  void read_node(std::uint64_t address, std::uint64_t count, std::uint64_t level) {
    Fields node = image_.metadata(address, node_size, place_);
    node.require(level == 0 ? "BTLF" : "BTIN");
    node.require(1, 0, "a node of version");
    node.require(1, by_order, "a node of kind");
    for (std::uint64_t i = 0; i < count; ++i) records_.push_back(node.take(record_size));
    if (level == 0) return;
    for (std::uint64_t i = 0; i <= count; ++i) {
      const std::uint64_t child = node.address();
      const std::uint64_t in_child = node.number(count_size_);
      node.skip(total_sizes_[level]);
      read_node(child, in_child, level - 1);
    }
  }

  Image& image_;
  const std::string& place_;
  std::size_t count_size_ = 0;
  std::vector<std::size_t> total_sizes_;  ///< by level
  std::vector<ByteView> records_;
};

/// Finds objects by their offset in the heap.
class Heap {
 public:
  Heap(Image& image, std::uint64_t address, const std::string& place) : image_(image), place_(place) {
    Fields head = image.metadata(address, 146, place);
    head.require("FRHP");
    head.require(1, 0, "a heap of version");
    head.require(2, 7, "a heap with ids of bytes:");
    head.require(2, 0, "a heap with filters of bytes:");
    head.skip(1 + 4 + 12 * 8);
    head.require(2, blocks_in_row, "a heap with blocks in a row:");
    head.require(8, smallest_block, "a heap with smallest blocks of bytes:");
    head.require(8, largest_block, "a heap with largest blocks of bytes:");
    head.require(2, 32, "a heap with offsets of bits:");
    head.skip(2);
    root_ = head.address();
    rows_ = head.number(2);
    if (rows_ > max_rows) refuse(place, "a heap of " + std::to_string(rows_) + " rows");
  }

  ByteView object(std::uint64_t offset, std::uint64_t size) {
    std::uint64_t block = root_;
    for (std::uint64_t rows = rows_; rows > 0;) {
      std::uint64_t row = 0;
      while (row < rows && offset >= start_of(row + 1)) ++row;
      if (row == rows) refuse(place_, "a link is outside of where links are");
      offset -= start_of(row);
      const std::uint64_t space = size_of(row);
      block = child_of(block, row * blocks_in_row + offset / space);
      offset %= space;
      for (rows = 0; space > largest_block && start_of(rows) < space;) ++rows;
    }
    if (block > image_.size()) refuse(place_, "a link is outside of where links are");
    return image_.metadata_bytes(block + offset, size, place_);
  }

 private:
  static std::uint64_t size_of(std::uint64_t row) { return row == 0 ? smallest_block : smallest_block << (row - 1); }
  static std::uint64_t start_of(std::uint64_t row) {
    return row == 0 ? 0 : blocks_in_row * smallest_block << (row - 1);
  }

  std::uint64_t child_of(std::uint64_t table, std::uint64_t entry) {
    constexpr std::uint64_t table_head = 17;  // signature, version, the heap, the offset
    image_.metadata(table, table_head, place_).require("FHIB");
    return image_.metadata(table + table_head + entry * 8, 8, place_).address();
  }

  Image& image_;
  const std::string& place_;
  std::uint64_t root_ = 0;
  std::uint64_t rows_ = 0;
};

}  // namespace

std::vector<ByteView> read_many_links(Image& image, std::uint64_t heap, std::uint64_t index, const std::string& place) {
  Heap links(image, heap, place);
  std::vector<ByteView> messages;
  for (const ByteView record : Index(image, place).read(index)) {
    Fields fields(record, place);
    fields.skip(8);
    fields.require(1, 0, "a link kept as");
    const std::uint64_t offset = fields.number(4);
    messages.push_back(links.object(offset, fields.number(2)));
  }
  return messages;
}

}  // namespace tare::hdf5
