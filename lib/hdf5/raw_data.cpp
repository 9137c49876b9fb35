#include "lib/hdf5/raw_data.hpp"

#include <unordered_set>

#include "lib/hdf5/layout.hpp"
#include "lib/hdf5/type.hpp"

namespace tare {
namespace {

/// The B-tree of a dataset's chunks.
class Chunks {
 public:
  Chunks(Hdf5File& file, std::uint64_t dimensions) : file_(file), key_size_(8 + 8 * dimensions) {}

  std::vector<Span> read(std::uint64_t tree) {
    open_.push_back(tree);
    while (!open_.empty()) {
      const std::uint64_t address = open_.back();
      open_.pop_back();
      if (!seen_.insert(address).second) throw Hdf5NotRead{"a B-tree of chunks that leads back into itself"};
      read_node(address);
    }
    return std::move(chunks_);
  }

 private:
  void read_node(std::uint64_t address) {
    constexpr std::uint64_t head_size = 24, child_size = 8, of_chunks = 1;
    const Bytes head = file_.read(address, head_size);
    Hdf5Fields fields(head, "B-tree");
    fields.require_signature("TREE");
    if (fields.number(1) != of_chunks) throw Hdf5NotRead{"a B-tree that is not of chunks"};
    const bool is_leaf = fields.number(1) == 0;
    const std::uint64_t count = fields.number(2);
    const Bytes entries = file_.read(address + head_size, count * (key_size_ + child_size) + key_size_);
    Hdf5Fields entry(entries, "B-tree");
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t size = entry.number(4);
      entry.skip(key_size_ - 4);
      const std::uint64_t child = entry.address();
      file_.source().budget()->take_memory(sizeof(Span));
      is_leaf ? chunks_.push_back({child, size}) : open_.push_back(child);
    }
  }

  Hdf5File& file_;
  std::uint64_t key_size_;  ///< size, filters that were left out, an offset in each dimension
  std::vector<std::uint64_t> open_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Span> chunks_;
};

ByteView require_own(const Hdf5Header& header, Hdf5MessageType type) {
  const Hdf5Message* message = header.find(type);
  if (message == nullptr || message->is_shared) throw Hdf5NotRead{"a dataset whose description stands elsewhere"};
  return header.data(*message);
}

}  // namespace

std::uint64_t hdf5_data_size(const Hdf5Header& header) {
  constexpr std::uint64_t most = std::uint64_t{1} << 56;
  std::uint64_t size = read_hdf5_type(require_own(header, Hdf5MessageType::datatype)).size;
  for (const std::int64_t length : read_hdf5_shape(require_own(header, Hdf5MessageType::dataspace))) {
    const auto count = static_cast<std::uint64_t>(length);
    if (count != 0 && size > most / count) throw Hdf5NotRead{"a dataset larger than any file"};
    size *= count;
  }
  return size;
}

std::vector<Span> read_hdf5_raw_data(Hdf5File& file, const Hdf5Header& header) {
  const Hdf5Layout layout = read_hdf5_layout(require_own(header, Hdf5MessageType::layout));
  switch (layout.form) {
    case Hdf5Layout::Form::compact:
      return {};
    case Hdf5Layout::Form::contiguous:
      if (layout.begin == hdf5_no_address) return {};
      return {{layout.begin, hdf5_data_size(header)}};
    case Hdf5Layout::Form::chunked:
      if (layout.begin == hdf5_no_address) return {};
      if (layout.dimensions == 0) throw Hdf5NotRead{"a chunked dataset whose index is of HDF5 1.10 or later"};
      return Chunks(file, layout.dimensions).read(layout.begin);
    case Hdf5Layout::Form::virtual_data:
      throw Hdf5NotRead{"a virtual dataset, whose data are in other files"};
  }
  return {};
}

std::vector<std::uint64_t> read_hdf5_filters(ByteView message) {
  constexpr std::uint64_t first_named = 256;
  Hdf5Fields fields(message, "filter message");
  const std::uint64_t version = fields.number(1);
  const std::uint64_t count = fields.number(1);
  if (version == 1) fields.skip(6);
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t number = numbers.emplace_back(fields.number(2));
    const std::uint64_t name = version == 1 || number >= first_named ? fields.number(2) : 0;
    fields.skip(2);
    const std::uint64_t values = fields.number(2);
    fields.skip(version == 1 ? (name + 7) / 8 * 8 : name);
    fields.skip(4 * (version == 1 ? (values + 1) / 2 * 2 : values));
  }
  return numbers;
}

}  // namespace tare
