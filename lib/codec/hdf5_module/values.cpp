#include "lib/codec/hdf5_module/values.hpp"

#include <algorithm>
#include <optional>

#include "lib/codec/hdf5_module/format.hpp"

namespace tare::hdf5 {
namespace {

constexpr std::uint64_t max_levels = 8;

/// How a dataset is cut: chunks that are whole in the later dimensions, so that each is one run of the values.
struct Cut {
  std::vector<std::uint64_t> chunk;  ///< elements in each dimension
  std::vector<std::uint64_t> steps;  ///< bytes from one to the next in each dimension
  std::uint64_t bytes = 0;           ///< of a chunk
  std::uint64_t chunks = 1;
};

std::uint64_t chunks_in(std::uint64_t size, std::uint64_t chunk) {
  return size / chunk + (size % chunk != 0 ? 1 : 0);
}

/// REQUIRES: `shape` times `element_bytes` is a number of bytes, and not 0.
Cut read_cut(Fields& fields, const Shape& shape, std::uint64_t element_bytes, const std::string& place) {
  Cut cut{{}, std::vector<std::uint64_t>(shape.sizes.size()), element_bytes};
  for (std::size_t i = 0; i < shape.sizes.size(); ++i) cut.chunk.push_back(fields.number(4));
  fields.require(4, element_bytes, "chunks of elements of bytes:");
  std::uint64_t step = element_bytes;
  bool is_whole = true;
  for (std::size_t i = shape.sizes.size(); i-- > 0;) {
    const std::uint64_t here = cut.chunk[i];
    if (here == 0 || here > shape.sizes[i] || (here > 1 && !is_whole)) refuse(place, "is cut as no state is");
    is_whole = is_whole && here == shape.sizes[i];
    cut.steps[i] = step;
    step *= shape.sizes[i];
    cut.bytes *= here;
    cut.chunks *= chunks_in(shape.sizes[i], here);
  }
  if (cut.bytes > std::max(chunk_bytes, element_bytes)) refuse(place, "is cut into chunks larger than tare's");
  return cut;
}

struct Chunk {
  std::uint64_t begin;  ///< of its values among all, in bytes
  std::uint64_t size;   ///< less than a whole chunk's at an edge
  std::uint64_t skipped;
  ByteView packed;
};

/// The chunks in their B-tree.
class ChunkIndex {
 public:
  ChunkIndex(Image& image, const Shape& shape, const Cut& cut, const std::string& place)
      : image_(image), shape_(shape), cut_(cut), place_(place) {}

  std::vector<Chunk> read(std::uint64_t tree) {
    const std::uint64_t entry = key_size() + 8;
    if (cut_.chunks > image_.size() / entry) {
      refuse(place_, "is " + std::to_string(cut_.chunks) + " chunks, more than there is room for in the file");
    }
    read_node(tree, std::nullopt);
    std::ranges::sort(chunks_, {}, &Chunk::begin);
    const bool is_twice = std::ranges::adjacent_find(chunks_, {}, &Chunk::begin) != chunks_.end();
    if (chunks_.size() == cut_.chunks && !is_twice) return std::move(chunks_);
    refuse(place_, "not each of its chunks is stored, once: " + std::to_string(chunks_.size()) + " for " +
                       std::to_string(cut_.chunks));
  }

 private:
  [[nodiscard]] std::uint64_t key_size() const { return 8 + 8 * (shape_.sizes.size() + 1); }

  void read_node(std::uint64_t address, std::optional<std::uint64_t> wanted_level) {
    constexpr std::uint64_t node_head = 24;
    Fields head = image_.metadata(address, node_head, place_);
    head.require("TREE");
    head.require(1, 1, "a tree of kind");
    const std::uint64_t level = head.number(1);
    if (level > max_levels || (wanted_level && level != *wanted_level)) refuse(place_, "its tree has no end");
    const std::uint64_t count = head.number(2);
    Fields entries = image_.metadata(address + node_head, count * (key_size() + 8), place_);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (level == 0) {
        read_chunk(entries);
      } else {
        entries.skip(key_size());
        read_node(entries.address(), level - 1);
      }
    }
  }

  void read_chunk(Fields& entry) {
    const std::uint64_t size = entry.number(4);
    const std::uint64_t skipped = entry.number(4);
    std::uint64_t begin = 0;
    std::uint64_t used = cut_.bytes;
    for (std::size_t i = 0; i < shape_.sizes.size(); ++i) {
      const std::uint64_t at = entry.number(8);
      if (at >= shape_.sizes[i] || at % cut_.chunk[i] != 0) refuse(place_, "a chunk is outside of it");
      begin += at * cut_.steps[i];
      used = used / cut_.chunk[i] * std::min(cut_.chunk[i], shape_.sizes[i] - at);
    }
    entry.skip(8);
    if (chunks_.size() == cut_.chunks) refuse(place_, "has more chunks than it is cut into");
    chunks_.push_back({begin, used, skipped, image_.values(entry.address(), size, place_)});
  }

  Image& image_;
  const Shape& shape_;
  const Cut& cut_;
  const std::string& place_;
  std::vector<Chunk> chunks_;
};

Bytes read_chunks(Image& image, Fields& layout, const Object& dataset, const Shape& shape, std::uint64_t element_bytes,
                  std::uint64_t bytes) {
  const std::string& place = dataset.place();
  layout.require(1, shape.sizes.size() + 1, "chunks of dimensions:");
  const std::uint64_t tree = layout.address();
  const Cut cut = read_cut(layout, shape, element_bytes, place);
  const Filters filters = read_filters(dataset);
  const std::vector<Chunk> chunks = ChunkIndex(image, shape, cut, place).read(tree);
  Bytes values(bytes);
  Bytes edge;
  for (const Chunk& chunk : chunks) {
    const auto own = std::span(values).subspan(chunk.begin, chunk.size);
    if (chunk.size == cut.bytes) {
      unpack_chunk(chunk.packed, filters, chunk.skipped, element_bytes, own, place);
    } else {
      edge.resize(cut.bytes);
      unpack_chunk(chunk.packed, filters, chunk.skipped, element_bytes, edge, place);
      std::ranges::copy(std::span(edge).first(chunk.size), own.begin());
    }
  }
  return values;
}

}  // namespace

Bytes read_values(Image& image, const Object& dataset, const Shape& shape, std::uint64_t element_bytes,
                  std::uint64_t bytes) {
  if (bytes == 0) return {};
  constexpr std::uint64_t in_one_piece = 1;
  constexpr std::uint64_t in_chunks = 2;
  const std::string& place = dataset.place();
  Fields layout(dataset.require(MessageType::layout, "layout"), place);
  layout.require(1, 3, "a layout of version");
  const std::uint64_t kind = layout.number(1);
  if (kind == in_chunks) return read_chunks(image, layout, dataset, shape, element_bytes, bytes);
  if (kind != in_one_piece) refuse(place, "is stored as no state is");
  const std::uint64_t address = layout.address();
  const ByteView stored = image.values(address, layout.number(8), place);
  if (stored.size() != bytes)
    refuse(place, std::to_string(stored.size()) + " bytes stored, not " + std::to_string(bytes));
  return {stored.begin(), stored.end()};
}

}  // namespace tare::hdf5
