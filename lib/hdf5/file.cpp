#include "lib/hdf5/file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/hdf5/checksum.hpp"

namespace tare {
namespace {

constexpr std::uint64_t max_block = std::uint64_t{16} << 20;
constexpr std::size_t most_findings = 12;
/// Of metadata, in addition to the file's own size.
constexpr std::uint64_t free_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t steps_a_block = 64;

}  // namespace

std::uint64_t Hdf5Fields::number(std::size_t size) {
  const ByteView bytes = take(size);
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

ByteView Hdf5Fields::take(std::uint64_t size) {
  if (size > bytes_.size()) throw Hdf5NotRead{fmt::format("its {} is cut short", what_)};
  const ByteView taken = bytes_.first(size);
  bytes_ = bytes_.subspan(size);
  return taken;
}

void Hdf5Fields::require_signature(std::string_view signature) {
  if (as_text(take(signature.size())) != signature) throw Hdf5NotRead{fmt::format("its {} is damaged", what_)};
}

const Bytes& Hdf5File::page(std::uint64_t number) {
  Page& page = pages_[number % page_slots];
  if (page.number != number) {
    const std::uint64_t start = number * page_size;
    page.bytes = source_->read({start, std::min(page_size, source_->size() - start)});
    page.number = number;
  }
  return page.bytes;
}

Bytes Hdf5File::read(std::uint64_t address, std::uint64_t size) {
  Bytes bytes = look(address, size);
  note(address, size);
  return bytes;
}

void Hdf5File::count(std::uint64_t size) {
  taken_ += size;
  if (taken_ > source_->size() + free_bytes) fail("its parts refer to the same blocks over and over");
  source_->budget()->take_steps(steps_a_block + size);
}

Bytes Hdf5File::read_values(std::uint64_t address, std::uint64_t size) {
  require_values(address, size);
  return source_->read({offset(address), size});
}

void Hdf5File::read_values(std::uint64_t address, std::span<std::byte> to) {
  require_values(address, to.size());
  source_->read(offset(address), to);
}

void Hdf5File::require_values(std::uint64_t address, std::uint64_t size) {
  if (size > left(address)) {
    throw Hdf5NotRead{fmt::format("{} bytes of data at offset {}, beyond the end of the file", size, offset(address))};
  }
  count(size);
}

Bytes Hdf5File::look(std::uint64_t address, std::uint64_t size) {
  if (size > max_block) fail(fmt::format("metadata of {} bytes at address {}", size, address));
  count(size);
  if (size > left(address)) {
    fail(fmt::format("{} bytes of metadata at address {} pass the end of the file", size, address));
  }
  const std::uint64_t start = base_ + address;
  Bytes bytes;
  bytes.reserve(size);
  while (bytes.size() < size) {
    const std::uint64_t at = start + bytes.size();
    const ByteView in_page = ByteView(page(at / page_size)).subspan(at % page_size);
    const ByteView part = in_page.first(std::min<std::uint64_t>(in_page.size(), size - bytes.size()));
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

void Hdf5File::note(std::uint64_t address, std::uint64_t size) {
  const Span block{base_ + address, std::min(size, left(address))};
  if (!blocks_.empty() && blocks_.back().end() == block.offset) {
    blocks_.back().size += block.size;
    return;
  }
  source_->budget()->take_memory(sizeof(Span));
  blocks_.push_back(block);
}

void Hdf5File::fail(const std::string& problem) const {
  throw Error(Status::corrupt, fmt::format("{}: HDF5: {}", source_->name(), problem),
              "the file is cut short or damaged; take another copy");
}

void Hdf5File::require_checksum(ByteView block, std::uint64_t address, std::string_view what) const {
  const ByteView covered = block.first(block.size() - hdf5_checksum_size);
  if (hdf5_checksum(covered) != load_le<std::uint32_t>(block.data() + covered.size())) fail_checksum(what, address);
}

void Hdf5File::fail_checksum(std::string_view what, std::uint64_t address) const {
  fail(fmt::format("the checksum of the {} at offset {} is wrong", what, offset(address)));
}

void Hdf5File::warn(std::string_view code, std::string message, std::string path) {
  if (findings_.size() == most_findings) {
    ++untold_;
    return;
  }
  findings_.push_back({Severity::warning, std::string(code), std::move(message), {}, std::move(path)});
}

std::vector<Finding> Hdf5File::findings() const {
  std::vector<Finding> all = findings_;
  if (untold_ > 0) all.back().message += fmt::format(" (and {} more such objects)", untold_);
  return all;
}

}  // namespace tare
