#include "lib/hdf5/fractal_heap.hpp"

#include <algorithm>
#include <bit>

#include "lib/hdf5/checksum.hpp"

namespace tare {
namespace {

constexpr std::uint64_t block_prefix_size = 5 + hdf5_address_size;  // signature, version, the heap's address

}  // namespace

Hdf5FractalHeap::Hdf5FractalHeap(Hdf5File& file, std::uint64_t address) : file_(file) {
  constexpr std::uint64_t head_size = 146;
  constexpr std::uint64_t blocks_have_checksums = 2;
  constexpr std::uint64_t statistics = std::uint64_t{12} * 8;
  const Bytes head = file.read(address, head_size);
  Hdf5Fields fields(head, "fractal heap");
  fields.require_signature("FRHP");
  if (fields.number(1) != 0) throw Hdf5NotRead{"a fractal heap of an unknown version"};
  id_size_ = fields.number(2);
  if (fields.number(2) != 0) throw Hdf5NotRead{"a fractal heap that is packed"};
  file.require_checksum(head, address, "fractal heap");
  has_checksums_ = (fields.number(1) & blocks_have_checksums) != 0;
  const std::uint64_t largest_object = fields.number(4);
  fields.skip(statistics);
  width_ = fields.number(2);
  smallest_ = fields.length();
  largest_ = fields.length();
  const std::uint64_t offset_bits = fields.number(2);
  fields.skip(2);
  root_ = fields.address();
  rows_ = fields.number(2);
  require_sense(offset_bits);
  offset_size_ = (offset_bits + 7) / 8;
  length_size_ = std::min(hdf5_bytes_for(largest_), hdf5_bytes_for(largest_object));
}

void Hdf5FractalHeap::require_sense(std::uint64_t offset_bits) const {
  constexpr std::uint64_t most_bits = 48;
  constexpr std::uint64_t most_block = std::uint64_t{1} << 24;
  const bool is_doubling =
      std::has_single_bit(width_) && std::has_single_bit(smallest_) && std::has_single_bit(largest_);
  const bool is_in_bounds = smallest_ <= largest_ && largest_ <= most_block && offset_bits <= most_bits;
  if (!is_doubling || !is_in_bounds || rows_ > rows_for(std::uint64_t{1} << offset_bits)) {
    throw Hdf5NotRead{"a fractal heap that makes no sense"};
  }
}

/// How many rows a table has whose blocks are of so many bytes together.
std::uint64_t Hdf5FractalHeap::rows_for(std::uint64_t size) const {
  std::uint64_t rows = 0;
  while (row_start(rows) < size) ++rows;
  return rows;
}

/// Null where the block was not read yet. Throws Hdf5NotRead where it was, as one of another size.
const Bytes* Hdf5FractalHeap::find(std::uint64_t address, std::uint64_t size) const {
  const auto found = seen_.find(address);
  if (found == seen_.end()) return nullptr;
  if (found->second.size() != size) throw Hdf5NotRead{"a fractal heap that leads to one block in two ways"};
  return &found->second;
}

const Bytes& Hdf5FractalHeap::table(std::uint64_t address, std::uint64_t rows) {
  const std::uint64_t size = block_prefix_size + offset_size_ + rows * width_ * hdf5_address_size + hdf5_checksum_size;
  if (const Bytes* known = find(address, size)) return *known;
  file_.source().budget()->take_memory(size);
  Bytes bytes = file_.read(address, size);
  Hdf5Fields(bytes, "fractal heap").require_signature("FHIB");
  file_.require_checksum(bytes, address, "fractal heap's table");
  return seen_[address] = std::move(bytes);
}

/// Of its bytes only those in front of its objects mean something yet.
const Bytes& Hdf5FractalHeap::block(std::uint64_t address, std::uint64_t size) {
  if (const Bytes* known = find(address, size)) return *known;
  file_.source().budget()->take_memory(size);
  Bytes bytes = file_.look(address, size);
  Hdf5Fields(bytes, "fractal heap").require_signature("FHDB");
  const std::uint64_t head = block_prefix_size + offset_size_ + (has_checksums_ ? hdf5_checksum_size : 0);
  if (head > size) throw Hdf5NotRead{"a fractal heap that makes no sense"};
  file_.note(address, head);
  if (has_checksums_) {
    std::byte* const stored = bytes.data() + head - hdf5_checksum_size;
    const auto wanted = load_le<std::uint32_t>(stored);
    std::fill_n(stored, hdf5_checksum_size, std::byte{0});
    if (hdf5_checksum(bytes) != wanted) file_.fail_checksum("fractal heap's block", address);
  }
  return seen_[address] = std::move(bytes);
}

Bytes Hdf5FractalHeap::object(ByteView id) {
  Hdf5Fields fields(id, "heap's id");
  if (fields.number(1) != 0) throw Hdf5NotRead{"an object that is in no block of its heap"};
  std::uint64_t offset = fields.number(offset_size_);
  const std::uint64_t size = fields.number(length_size_);
  std::uint64_t address = root_;
  std::uint64_t space = smallest_;
  for (std::uint64_t rows = rows_; rows > 0; rows = space > largest_ ? rows_for(space) : 0) {
    std::uint64_t row = 0;
    while (row < rows && offset >= row_start(row + 1)) ++row;
    if (row == rows) throw Hdf5NotRead{"an object outside of its heap"};
    offset -= row_start(row);
    space = block_size(row);
    const Bytes& children = table(address, rows);
    const std::uint64_t child = row * width_ + offset / space;
    address = load_le<std::uint64_t>(children.data() + block_prefix_size + offset_size_ + child * hdf5_address_size);
    offset %= space;
  }
  if (offset > space || size > space - offset) throw Hdf5NotRead{"an object that passes its heap's block"};
  const Bytes& bytes = block(address, space);
  file_.note(address + offset, size);
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace tare
