#include "lib/hdf5/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "lib/base/limits.hpp"
#include "lib/base/parallel.hpp"
#include "lib/hdf5/chunks.hpp"
#include "lib/hdf5/dataset.hpp"
#include "lib/hdf5/filters.hpp"
#include "lib/hdf5/layout.hpp"
#include "lib/hdf5/type.hpp"

namespace tare {
namespace {

/// A mebibyte of zeros packs to a hundred bytes, its entry in the index included: nothing packs tighter.
constexpr std::uint64_t most_unpacked = 16384;  // bytes from one
/// Larger chunks are unpacked one after the other: each takes room of its own.
constexpr std::uint64_t most_shared = std::uint64_t{16} << 20;

/// Puts chunks where their values belong.
class Assembly {
 public:
  Assembly(Hdf5File& file, const Hdf5Header& header, const Hdf5Layout& layout, std::span<std::byte> values)
      : file_(file), layout_(layout), sizes_(sizes_of(header)), grid_(sizes_, layout), values_(values) {
    if (const Hdf5Message* message = header.find(Hdf5MessageType::filters)) {
      filters_ = read_hdf5_filters(header.data(*message));
    }
    for (const std::uint64_t size : layout.chunk) {
      if (size == 0 || size > limits::max_state_bytes / chunk_bytes_)
        throw Hdf5NotRead{"chunks that are larger than all of a state"};
      chunk_bytes_ *= size;
    }
    if (layout.chunk.back() * count_of(sizes_) != values_.size()) throw Hdf5NotRead{"chunks of other elements"};
  }

  /// On several threads, as unpacking takes long: they read in turn.
  void put(const std::vector<Hdf5Chunk>& chunks) {
    if (chunks.size() != grid_.count()) throw_unstored(chunks.size());
    std::vector<bool> is_stored(chunks.size());
    for (const Hdf5Chunk& chunk : chunks) {
      const std::uint64_t number = number_of(chunk);
      if (is_stored[number]) throw_unstored(chunks.size());
      is_stored[number] = true;
    }
    std::atomic<std::size_t> next{0};
    on_each_core(chunk_bytes_ > most_shared ? 1 : chunks.size(), [&] {
      Bytes edge;
      for (std::size_t i = next++; i < chunks.size(); i = next++) put(chunks[i], edge);
    });
  }

 private:
  static std::vector<std::uint64_t> sizes_of(const Hdf5Header& header) {
    const std::vector<std::int64_t> shape =
        read_hdf5_shape(header.data(header.require(Hdf5MessageType::dataspace, "dataspace")));
    return {shape.begin(), shape.end()};
  }

  static std::uint64_t count_of(const std::vector<std::uint64_t>& sizes) {
    std::uint64_t count = 1;
    for (const std::uint64_t size : sizes) count *= size;
    return count;
  }

  [[noreturn]] void throw_unstored(std::size_t stored) const {
    throw Hdf5NotRead{fmt::format("not each of its chunks is stored, once: {} for {}", stored, grid_.count())};
  }

  [[nodiscard]] std::uint64_t number_of(const Hdf5Chunk& chunk) const {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < chunk.at.size(); ++i) {
      if (chunk.at[i] >= grid_.along(i)) throw Hdf5NotRead{"a chunk is outside of it"};
      number = number * grid_.along(i) + chunk.at[i];
    }
    return number;
  }

  [[nodiscard]] Bytes read(const Hdf5Chunk& chunk) {
    if (chunk.packed.size < chunk_bytes_ / most_unpacked) throw Hdf5NotRead{"a chunk that does not unpack to its size"};
    const std::lock_guard lock(one_reads_);
    return file_.read_values(chunk.packed.offset, chunk.packed.size);
  }

  /// `edge`: room for a chunk that is more than one run of values.
  void put(const Hdf5Chunk& chunk, Bytes& edge) {
    const Bytes packed = read(chunk);
    // From that dimension on, chunk and dataset are one run.
    std::size_t whole = sizes_.size();
    while (whole > 0 && layout_.chunk[whole - 1] == sizes_[whole - 1]) --whole;
    const std::size_t split = whole == 0 ? 0 : whole - 1;
    if (is_one_run(chunk, split)) {
      return undo_hdf5_filters(packed, filters_, chunk.skipped, values_.subspan(begin_of(chunk), chunk_bytes_));
    }
    edge.resize(chunk_bytes_);
    undo_hdf5_filters(packed, filters_, chunk.skipped, edge);
    copy(chunk, edge, {0, 0, 0}, split);
  }

  /// Whether it is not cut off by an edge, and one thing beside another in the dimension `split` alone.
  [[nodiscard]] bool is_one_run(const Hdf5Chunk& chunk, std::size_t split) const {
    for (std::size_t i = 0; i < split; ++i) {
      if (layout_.chunk[i] != 1) return false;
    }
    return inside(chunk, split) == layout_.chunk[split];
  }

  /// Elements of the chunk that are the dataset's, in a dimension.
  [[nodiscard]] std::uint64_t inside(const Hdf5Chunk& chunk, std::size_t i) const {
    return std::min(layout_.chunk[i], sizes_[i] - chunk.at[i] * layout_.chunk[i]);
  }

  [[nodiscard]] std::uint64_t begin_of(const Hdf5Chunk& chunk) const {
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < sizes_.size(); ++i) begin = begin * sizes_[i] + chunk.at[i] * layout_.chunk[i];
    return begin * layout_.chunk.back();
  }

  /// A place in both, as far as the dimensions before `dimension` tell; in elements.
  struct Position {
    std::size_t dimension;
    std::uint64_t from, to;
  };

  /// What of `edge` is the dataset's.
  void copy(const Hdf5Chunk& chunk, const Bytes& edge, Position at, std::size_t split) {
    if (at.dimension < split) {
      const std::uint64_t along = layout_.chunk[at.dimension];
      for (std::uint64_t i = 0; i < inside(chunk, at.dimension); ++i) {
        const std::uint64_t to = at.to * sizes_[at.dimension] + chunk.at[at.dimension] * along + i;
        copy(chunk, edge, {at.dimension + 1, at.from * along + i, to}, split);
      }
      return;
    }
    std::uint64_t run = inside(chunk, split) * layout_.chunk.back();
    std::uint64_t from = at.from * layout_.chunk[split];
    std::uint64_t to = at.to * sizes_[split] + chunk.at[split] * layout_.chunk[split];
    for (std::size_t i = split + 1; i < sizes_.size(); ++i) {
      run *= sizes_[i];
      from *= sizes_[i];
      to *= sizes_[i];
    }
    const auto begin = edge.begin() + static_cast<std::ptrdiff_t>(from * layout_.chunk.back());
    std::copy(begin, begin + static_cast<std::ptrdiff_t>(run),
              values_.begin() + static_cast<std::ptrdiff_t>(to * layout_.chunk.back()));
  }

  Hdf5File& file_;
  const Hdf5Layout& layout_;
  std::vector<std::uint64_t> sizes_;
  Hdf5Grid grid_;
  std::vector<Hdf5Filter> filters_;
  std::uint64_t chunk_bytes_ = 1;
  std::span<std::byte> values_;
  std::mutex one_reads_;
};

}  // namespace

Bytes read_hdf5_values(Hdf5File& file, const Hdf5Header& header, std::uint64_t max_bytes) {
  const std::uint64_t size = hdf5_data_size(header);
  if (size > max_bytes) throw Hdf5NotRead{fmt::format("{} bytes of values, more than there can be", size)};
  Bytes values(size);
  read_hdf5_values(file, header, values);
  return values;
}

void read_hdf5_values(Hdf5File& file, const Hdf5Header& header, std::span<std::byte> to) {
  using enum Hdf5Layout::Form;
  if (header.find(Hdf5MessageType::external_files) != nullptr) throw Hdf5NotRead{"data that are in other files"};
  const std::uint64_t size = to.size();
  if (size == 0) return;
  const ByteView message = header.data(header.require(Hdf5MessageType::layout, "layout"));
  const Hdf5Layout layout = read_hdf5_layout(message);
  if (layout.form == virtual_data) throw Hdf5NotRead{"a virtual dataset, whose data are in other files"};
  if (layout.form == compact) {
    Hdf5Fields fields(message, "data");
    fields.skip(layout.begin);
    std::ranges::copy(fields.take(size), to.begin());
    return;
  }
  if (layout.begin == hdf5_no_address) throw Hdf5NotRead{"data that were never written"};
  if (layout.size.value_or(size) != size) throw Hdf5NotRead{fmt::format("{} bytes stored, not {}", *layout.size, size)};
  if (layout.form == contiguous) return file.read_values(layout.begin, to);
  Assembly(file, header, layout, to).put(read_hdf5_chunks(file, header, layout));
}

}  // namespace tare
