#include "lib/codec/hdf5_module/chunks.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "lib/base/parallel.hpp"
#include "lib/base/realloc_vector.hpp"
#include "lib/codec/hdf5_module/format.hpp"

namespace tare::hdf5 {
namespace {

using Room = ReallocVector<std::byte>;

/// The first byte of every element, then the second of every one ...: `ElementBytes` is known, or 0.
template <std::size_t ElementBytes>
void shuffle(ByteView plain, std::size_t element_bytes, std::span<std::byte> planes) {
  if (ElementBytes != 0) element_bytes = ElementBytes;
  const std::size_t count = plain.size() / element_bytes;
  for (std::size_t plane = 0; plane < element_bytes; ++plane) {
    std::byte* const to = planes.data() + plane * count;
    const std::byte* const from = plain.data() + plane;
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i * element_bytes];
  }
}

void shuffle(ByteView plain, std::size_t element_bytes, std::span<std::byte> planes) {
  if (element_bytes == 4) return shuffle<4>(plain, element_bytes, planes);
  if (element_bytes == 8) return shuffle<8>(plain, element_bytes, planes);
  shuffle<0>(plain, element_bytes, planes);
}

struct Zstd {
  [[nodiscard]] static std::size_t bound(std::size_t size) { return ZSTD_compressBound(size); }
  [[nodiscard]] std::size_t pack(ByteView plain, Room& to) const {
    const std::size_t used = ZSTD_compressCCtx(context.get(), to.data(), to.size(), plain.data(), plain.size(),
                                               static_cast<int>(zstd_level));
    if (ZSTD_isError(used) != 0) throw std::bad_alloc();  // with that much room there is no other reason
    return used;
  }

  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context{ZSTD_createCCtx(), ZSTD_freeCCtx};
};

struct Gzip {
  [[nodiscard]] static std::size_t bound(std::size_t size) { return compressBound(size); }
  [[nodiscard]] static std::size_t pack(ByteView plain, Room& to) {
    uLongf used = to.size();
    const int result = compress2(reinterpret_cast<Bytef*>(to.data()), &used,
                                 reinterpret_cast<const Bytef*>(plain.data()), plain.size(), gzip_level);
    if (result != Z_OK) throw std::bad_alloc();
    return used;
  }
};

/// Packs chunks, one after the other, in room that is made once.
template <class Codec>
class Packer {
 public:
  explicit Packer(const ChunkGrid& grid)
      : grid_(grid), plain_(grid.chunk_size()), planes_(grid.chunk_size()), packed_(Codec::bound(grid.chunk_size())) {}

  Bytes pack(std::uint64_t number, ByteView values) {
    const Span run = grid_.values_of(number);
    ByteView chunk = values.subspan(run.offset, run.size);
    if (chunk.size() < plain_.size()) {  // at an edge it is filled with zeros, as libhdf5 does
      std::ranges::fill(std::ranges::copy(chunk, plain_.begin()).out, plain_.end(), std::byte{0});
      chunk = plain_;
    }
    shuffle(chunk, grid_.element_bytes, planes_);
    const std::size_t used = codec_.pack(planes_, packed_);
    return {packed_.begin(), packed_.begin() + static_cast<std::ptrdiff_t>(used)};
  }

 private:
  const ChunkGrid& grid_;
  Codec codec_;
  Room plain_, planes_, packed_;
};

template <class Codec>
void pack_all(const ChunkGrid& grid, ByteView values, std::span<Bytes*> into) {
  std::atomic<std::uint64_t> next{0};
  on_each_core(into.size(), [&] {
    Packer<Codec> packer(grid);
    for (std::uint64_t i = next++; i < into.size(); i = next++) *into[i] = packer.pack(i, values);
  });
}

std::uint64_t product(std::span<const hsize_t> sizes) {
  std::uint64_t all = 1;
  for (const hsize_t size : sizes) all *= size;
  return all;
}

}  // namespace

ChunkGrid::ChunkGrid(const tare_hdf5_entry& entry, std::uint64_t bytes_of_element)
    : shape(entry.shape, entry.shape + entry.rank), chunk(shape), element_bytes(bytes_of_element) {
  std::uint64_t bytes = element_bytes;
  for (std::size_t i = chunk.size(); i-- > 0;) {
    chunk[i] = std::clamp<hsize_t>(chunk_bytes / bytes, 1, std::max<hsize_t>(chunk[i], 1));
    bytes *= chunk[i];
  }
}

std::uint64_t ChunkGrid::count() const {
  std::uint64_t all = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) all *= (shape[i] + chunk[i] - 1) / chunk[i];
  return all;
}

std::vector<hsize_t> ChunkGrid::begin_of(std::uint64_t number) const {
  std::vector<hsize_t> begin(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::uint64_t along = (shape[i] + chunk[i] - 1) / chunk[i];
    begin[i] = number % along * chunk[i];
    number /= along;
  }
  return begin;
}

std::uint64_t ChunkGrid::chunk_size() const {
  return product(chunk) * element_bytes;
}

Span ChunkGrid::values_of(std::uint64_t number) const {
  const std::vector<hsize_t> begin = begin_of(number);
  std::uint64_t first = 0;
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    first = first * shape[i] + begin[i];
    count *= std::min(chunk[i], shape[i] - begin[i]);
  }
  return {first * element_bytes, count * element_bytes};
}

void pack_chunks(const ChunkGrid& grid, ByteView values, std::int32_t compression, std::deque<Bytes>& into) {
  std::vector<Bytes*> chunks(grid.count());
  for (Bytes*& chunk : chunks) chunk = &into.emplace_back();
  compression == TARE_HDF5_GZIP ? pack_all<Gzip>(grid, values, chunks) : pack_all<Zstd>(grid, values, chunks);
}

}  // namespace tare::hdf5
