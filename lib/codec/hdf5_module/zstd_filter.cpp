// HDF5's filter 32015: a chunk is one zstd frame that says its own size. The level is the filter's only parameter.
#include <zstd.h>

#include <cstdlib>

#include "lib/codec/hdf5_module/format.hpp"

namespace tare::hdf5 {
namespace {

constexpr unsigned long long max_chunk_bytes = 1ull << 30;

/// Puts a new buffer in place of HDF5's. HDF5 frees with free(), so this is malloc's.
std::size_t replace(void** buffer, std::size_t* capacity, void* fresh, std::size_t fresh_capacity, std::size_t used) {
  std::free(*buffer);
  *buffer = fresh;
  *capacity = fresh_capacity;
  return used;
}

std::size_t unpack(std::size_t size, std::size_t* capacity, void** buffer) {
  const unsigned long long plain = ZSTD_getFrameContentSize(*buffer, size);
  if (plain == ZSTD_CONTENTSIZE_UNKNOWN || plain == ZSTD_CONTENTSIZE_ERROR || plain > max_chunk_bytes) return 0;
  void* fresh = std::malloc(plain == 0 ? 1 : plain);
  if (fresh == nullptr) return 0;
  const std::size_t used = ZSTD_decompress(fresh, plain, *buffer, size);
  if (ZSTD_isError(used) != 0) {
    std::free(fresh);
    return 0;
  }
  return replace(buffer, capacity, fresh, plain, used);
}

std::size_t pack(int level, std::size_t size, std::size_t* capacity, void** buffer) {
  const std::size_t room = ZSTD_compressBound(size);
  void* fresh = std::malloc(room);
  if (fresh == nullptr) return 0;
  const std::size_t used = ZSTD_compress(fresh, room, *buffer, size, level);
  if (ZSTD_isError(used) != 0) {
    std::free(fresh);
    return 0;
  }
  return replace(buffer, capacity, fresh, room, used);
}

std::size_t run(unsigned flags, std::size_t count, const unsigned* values, std::size_t size, std::size_t* capacity,
                void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) != 0) return unpack(size, capacity, buffer);
  return pack(count > 0 ? static_cast<int>(values[0]) : 1, size, capacity, buffer);
}

}  // namespace

void register_zstd() {
  if (H5Zfilter_avail(zstd_filter) > 0) return;
  const H5Z_class2_t filter{H5Z_CLASS_T_VERS, zstd_filter, 1, 1, "zstd", nullptr, nullptr, run};
  check(H5Zregister(&filter), "register the zstd filter");
}

}  // namespace tare::hdf5
