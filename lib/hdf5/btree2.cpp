#include "lib/hdf5/btree2.hpp"

#include <algorithm>
#include <bit>

namespace tare {
namespace {

constexpr std::uint64_t node_prefix_size = 6;  // signature, version, type
constexpr std::uint64_t max_depth = 4;
constexpr std::uint64_t max_node_size = 65536;

class RecordReader {
 public:
  RecordReader(Hdf5File& file, Hdf5RecordType type) : file_(file), type_(static_cast<std::uint64_t>(type)) {}

  Hdf5Records read(std::uint64_t address) {
    constexpr std::uint64_t head_size = 38;
    const Bytes head = file_.read(address, head_size);
    Hdf5Fields fields(head, "B-tree");
    require_prefix(fields, "BTHD");
    file_.require_checksum(head, address, "B-tree");
    node_size_ = fields.number(4);
    records_.record_size = fields.number(2);
    const std::uint64_t depth = fields.number(2);
    fields.skip(2);
    const std::uint64_t root = fields.address();
    const std::uint64_t count = fields.number(2);
    measure(depth);
    if (root != hdf5_no_address) read_node(root, count, depth);
    return std::move(records_);
  }

 private:
  void require_prefix(Hdf5Fields& fields, std::string_view signature) const {
    fields.require_signature(signature);
    if (fields.number(1) != 0 || fields.number(1) != type_) throw Hdf5NotRead{"a B-tree of another kind"};
  }

  /// A node's pointers say how many records its child has, and how many are below that, in as few bytes as the most
  /// need: so many at each depth.
  void measure(std::uint64_t depth) {
    const std::uint64_t size = records_.record_size;
    const std::uint64_t around = node_prefix_size + hdf5_checksum_size;
    if (depth > max_depth || size == 0 || node_size_ > max_node_size || node_size_ < around + size) {
      throw Hdf5NotRead{"a B-tree that makes no sense"};
    }
    std::uint64_t below = (node_size_ - around) / size;
    count_size_ = hdf5_bytes_for(below);
    total_sizes_ = {0, 0};
    for (std::uint64_t level = 1; level < depth; ++level) {
      const std::uint64_t pointer = hdf5_address_size + count_size_ + total_sizes_[level];
      const std::uint64_t here = node_size_ < around + pointer ? 0 : (node_size_ - around - pointer) / (size + pointer);
      below = (here + 1) * below + here;
      total_sizes_.push_back(hdf5_bytes_for(below));
    }
  }

  void read_node(std::uint64_t address, std::uint64_t count, std::uint64_t level) {
    const std::uint64_t pointer = level == 0 ? 0 : hdf5_address_size + count_size_ + total_sizes_[level];
    const std::uint64_t pointers = level == 0 ? 0 : (count + 1) * pointer;
    const std::uint64_t used = node_prefix_size + count * records_.record_size + pointers + hdf5_checksum_size;
    if (used > node_size_) throw Hdf5NotRead{"a B-tree whose node holds more than it can"};
    const Bytes node = file_.read(address, used);
    file_.require_checksum(node, address, "B-tree's node");
    Hdf5Fields fields(node, "B-tree");
    require_prefix(fields, level == 0 ? "BTLF" : "BTIN");
    const ByteView records = fields.take(count * records_.record_size);
    file_.source().budget()->take_memory(records.size());
    records_.bytes.insert(records_.bytes.end(), records.begin(), records.end());
    for (std::uint64_t i = 0; level > 0 && i <= count; ++i) {
      const std::uint64_t child = fields.address();
      const std::uint64_t in_child = fields.number(count_size_);
      fields.skip(total_sizes_[level]);
      read_node(child, in_child, level - 1);
    }
  }

  Hdf5File& file_;
  std::uint64_t type_;
  std::uint64_t node_size_ = 0;
  std::uint64_t count_size_ = 0;
  std::vector<std::uint64_t> total_sizes_;  ///< by level
  Hdf5Records records_;
};

}  // namespace

Hdf5Records read_hdf5_records(Hdf5File& file, std::uint64_t address, Hdf5RecordType type) {
  return RecordReader(file, type).read(address);
}

}  // namespace tare
