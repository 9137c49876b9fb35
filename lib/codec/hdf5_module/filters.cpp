// The filters of a chunk: bytes shuffled by their place in an element, then packed with gzip or zstd.
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <new>

#include "lib/codec/hdf5_module/format.hpp"
#include "lib/codec/hdf5_module/values.hpp"

namespace tare::hdf5 {
namespace {

constexpr std::uint64_t shuffle_skipped = 1;
constexpr std::uint64_t packing_skipped = 2;

std::uint64_t read_filter(Fields& fields) {
  const std::uint64_t filter = fields.number(2);
  const std::uint64_t name_size = fields.number(2);
  fields.skip(2);
  const std::uint64_t values = fields.number(2);
  fields.skip(name_size + (values + values % 2) * 4);
  return filter;
}

std::int32_t packing_of(std::uint64_t filter, const std::string& place) {
  if (filter == H5Z_FILTER_DEFLATE) return TARE_HDF5_GZIP;
  if (filter == std::uint64_t{zstd_filter}) return TARE_HDF5_ZSTD;
  refuse(place, "is packed by filter " + std::to_string(filter));
}

bool unzstds(ByteView packed, std::span<std::byte> values) {
  const std::size_t size = ZSTD_decompress(values.data(), values.size(), packed.data(), packed.size());
  if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return size == values.size();
}

bool ungzips(ByteView packed, std::span<std::byte> values) {
  uLongf size = values.size();
  const auto* from = reinterpret_cast<const Bytef*>(packed.data());
  const int result = uncompress(reinterpret_cast<Bytef*>(values.data()), &size, from, packed.size());
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  return result == Z_OK && size == values.size();
}

template <std::size_t element_bytes>
void unshuffle_elements(ByteView planes, std::span<std::byte> values) {
  const std::size_t count = values.size() / element_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t plane = 0; plane < element_bytes; ++plane) {
      values[i * element_bytes + plane] = planes[plane * count + i];
    }
  }
}

void unshuffle(ByteView planes, std::uint64_t element_bytes, std::span<std::byte> values) {
  if (element_bytes == 4) return unshuffle_elements<4>(planes, values);
  if (element_bytes == 8) return unshuffle_elements<8>(planes, values);
  const std::size_t count = values.size() / element_bytes;
  for (std::size_t plane = 0; plane < element_bytes; ++plane) {
    const ByteView from = planes.subspan(plane * count, count);
    for (std::size_t i = 0; i < count; ++i) values[i * element_bytes + plane] = from[i];
  }
}

}  // namespace

Filters read_filters(const Object& dataset) {
  const Message* message = dataset.find(MessageType::filters);
  if (message == nullptr) return {};
  Fields fields(message->bytes, dataset.place());
  fields.require(1, 1, "filters of version");
  fields.require(1, 2, "filters in number");
  fields.skip(6);
  if (read_filter(fields) != H5Z_FILTER_SHUFFLE) refuse(dataset.place(), "is packed without being shuffled");
  return {packing_of(read_filter(fields), dataset.place())};
}

void unpack_chunk(ByteView packed, Filters filters, std::uint64_t skipped, std::uint64_t element_bytes,
                  std::span<std::byte> values, const std::string& place) {
  const bool is_packed = filters.packing != TARE_HDF5_NONE && (skipped & packing_skipped) == 0;
  const bool is_shuffled = filters.packing != TARE_HDF5_NONE && (skipped & shuffle_skipped) == 0 && element_bytes > 1;
  Bytes planes(is_packed && is_shuffled ? values.size() : 0);
  if (is_packed) {
    const std::span<std::byte> into = is_shuffled ? std::span(planes) : values;
    const bool is_right = filters.packing == TARE_HDF5_ZSTD ? unzstds(packed, into) : ungzips(packed, into);
    if (!is_right) refuse(place, "a chunk does not unpack to its size");
    packed = into;
  } else if (packed.size() != values.size()) {
    refuse(place, "a chunk is not of its size");
  }
  if (is_shuffled) {
    unshuffle(packed, element_bytes, values);
  } else if (!is_packed) {
    std::ranges::copy(packed, values.begin());
  }
}

}  // namespace tare::hdf5
