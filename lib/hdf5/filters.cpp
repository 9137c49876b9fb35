#include "lib/hdf5/filters.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <new>

namespace tare {
namespace {

enum FilterNumber : std::uint64_t { deflate = 1, shuffle = 2, fletcher32 = 3, zstd = 32015 };

constexpr std::uint64_t fletcher_size = 4;
constexpr std::uint64_t most_filters = 32;

bool undo_zstd(ByteView packed, std::span<std::byte> plain) {
  const std::size_t size = ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size());
  if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return size == plain.size();
}

bool undo_deflate(ByteView packed, std::span<std::byte> plain) {
  uLongf size = plain.size();
  const auto* from = reinterpret_cast<const Bytef*>(packed.data());
  const int result = uncompress(reinterpret_cast<Bytef*>(plain.data()), &size, from, packed.size());
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  return result == Z_OK && size == plain.size();
}

template <std::size_t ElementBytes>
void undo_shuffle(ByteView planes, std::span<std::byte> plain) {
  const std::size_t count = plain.size() / ElementBytes;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t plane = 0; plane < ElementBytes; ++plane) {
      plain[i * ElementBytes + plane] = planes[plane * count + i];
    }
  }
}

/// The first byte of every element, then the second of every one ...; what is no whole element stands behind, as it is.
bool undo_shuffle(ByteView planes, std::uint64_t element_bytes, std::span<std::byte> plain) {
  if (element_bytes == 0 || planes.size() != plain.size()) return false;
  const std::size_t count = plain.size() / element_bytes;
  const std::size_t whole = count * element_bytes;
  std::ranges::copy(planes.subspan(whole), plain.begin() + static_cast<std::ptrdiff_t>(whole));
  if (element_bytes == 4) return undo_shuffle<4>(planes, plain.first(whole)), true;
  if (element_bytes == 8) return undo_shuffle<8>(planes, plain.first(whole)), true;
  for (std::size_t plane = 0; plane < element_bytes && count > 0; ++plane) {
    const ByteView from = planes.subspan(plane * count, count);
    for (std::size_t i = 0; i < count; ++i) plain[i * element_bytes + plane] = from[i];
  }
  return true;
}

/// Fletcher's sums of big-endian words of 16 bits.
std::uint32_t fletcher_of(ByteView bytes) {
  constexpr std::uint64_t modulus = 65535;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const auto low = i + 1 < bytes.size() ? std::to_integer<std::uint64_t>(bytes[i + 1]) : 0;
    first = (first + (std::to_integer<std::uint64_t>(bytes[i]) << 8 | low)) % modulus;
    second = (second + first) % modulus;
  }
  return static_cast<std::uint32_t>(second << 16 | first);
}

/// HDF5 folds its sums to 1 to 65535, where a remainder is 0 to 65534.
bool are_same_sums(std::uint32_t stored, std::uint32_t found) {
  const auto folded = [](std::uint32_t sums) { return std::pair((sums >> 16) % 65535, (sums & 0xffff) % 65535); };
  return folded(stored) == folded(found);
}

bool undo_fletcher(ByteView sealed, std::span<std::byte> plain) {
  if (sealed.size() != plain.size() + fletcher_size) return false;
  const ByteView covered = sealed.first(plain.size());
  std::ranges::copy(covered, plain.begin());
  return are_same_sums(load_le<std::uint32_t>(sealed.data() + covered.size()), fletcher_of(covered));
}

bool undo(const Hdf5Filter& filter, ByteView packed, std::span<std::byte> plain) {
  switch (filter.number) {
    case deflate:
      return undo_deflate(packed, plain);
    case shuffle:
      return undo_shuffle(packed, filter.values.empty() ? 0 : filter.values[0], plain);
    case fletcher32:
      return undo_fletcher(packed, plain);
    case zstd:
      return undo_zstd(packed, plain);
    default:
      throw Hdf5NotRead{fmt::format("a dataset that is packed by filter {}", filter.number)};
  }
}

bool packs(const Hdf5Filter* filter) {
  return filter->number == deflate || filter->number == zstd;
}

bool seals(const Hdf5Filter* filter) {
  return filter->number == fletcher32;
}

/// How many bytes a filter was given, after those `before` it: what they made of a chunk; where one of them packed it,
/// as many as it gave, less its checksum.
std::uint64_t size_given(std::span<const Hdf5Filter* const> before, const Hdf5Filter& filter, std::uint64_t packed,
                         std::uint64_t plain) {
  if (std::ranges::any_of(before, packs))
    return seals(&filter) ? std::max(packed, fletcher_size) - fletcher_size : packed;
  return plain + fletcher_size * static_cast<std::uint64_t>(std::ranges::count_if(before, seals));
}

}  // namespace

std::vector<Hdf5Filter> read_hdf5_filters(ByteView message) {
  constexpr std::uint64_t first_named = 256;
  Hdf5Fields fields(message, "filter message");
  const std::uint64_t version = fields.number(1);
  const std::uint64_t count = fields.number(1);
  if (version == 1) fields.skip(6);
  if (count > most_filters) throw Hdf5NotRead{"more filters than HDF5 applies"};
  std::vector<Hdf5Filter> filters;
  for (std::uint64_t i = 0; i < count; ++i) {
    Hdf5Filter& filter = filters.emplace_back();
    filter.number = fields.number(2);
    const std::uint64_t name = version == 1 || filter.number >= first_named ? fields.number(2) : 0;
    fields.skip(2);
    const std::uint64_t values = fields.number(2);
    fields.skip(version == 1 ? (name + 7) / 8 * 8 : name);
    for (std::uint64_t k = 0; k < values; ++k) filter.values.push_back(static_cast<std::uint32_t>(fields.number(4)));
    if (version == 1 && values % 2 != 0) fields.skip(4);
  }
  return filters;
}

void undo_hdf5_filters(ByteView packed, const std::vector<Hdf5Filter>& filters, std::uint64_t skipped,
                       std::span<std::byte> plain) {
  std::vector<const Hdf5Filter*> applied;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    if ((skipped >> i & 1) == 0) applied.push_back(&filters[i]);
  }
  if (std::ranges::count_if(applied, packs) > 1) throw Hdf5NotRead{"a dataset that is packed twice"};
  Bytes held;
  for (std::size_t i = applied.size(); i-- > 0;) {
    Bytes out(i == 0 ? 0 : size_given(std::span(applied).first(i), *applied[i], packed.size(), plain.size()));
    if (!undo(*applied[i], packed, i == 0 ? plain : std::span(out))) {
      throw Hdf5NotRead{"a chunk that does not unpack to its size"};
    }
    held = std::move(out);
    packed = held;
  }
  if (!applied.empty()) return;
  if (packed.size() != plain.size()) throw Hdf5NotRead{"a chunk that is not of its size"};
  std::ranges::copy(packed, plain.begin());
}

}  // namespace tare
