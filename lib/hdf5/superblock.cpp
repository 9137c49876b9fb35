#include "lib/hdf5/superblock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lib/base/distant_source.hpp"
#include "lib/base/error.hpp"

namespace tare {
namespace {

constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
constexpr std::uint64_t offset_size = 8;
constexpr std::uint64_t least_user_block = 512;

void require_wide_addresses(const Hdf5File& file, std::uint64_t offsets, std::uint64_t lengths) {
  if (offsets == offset_size && lengths == offset_size) return;
  throw Error(
      Status::unsupported,
      fmt::format("{}: HDF5 with addresses of {} and lengths of {} bytes", file.source().name(), offsets, lengths),
      "tare reads those of 8 bytes, which every framework writes");
}

/// `end` counts from the file's start as it was when the superblock stood at `base`. Where it stands elsewhere now,
/// somebody has put a block in front or taken one away: HDF5 goes by where it stands. Returns it counted from there.
std::uint64_t require_end(const Hdf5File& file, std::uint64_t base, std::uint64_t end) {
  const std::uint64_t length = end - std::min(end, base);
  if (length <= file.left(0)) return length;
  file.fail(fmt::format("the superblock says {} bytes, there are {}", length, file.left(0)));
}

/// Versions 0 and 1: the root group stands in a symbol table entry at the end.
Hdf5Superblock read_old(Hdf5File& file, std::uint64_t version) {
  const std::uint64_t more = version == 0 ? 0 : 4;
  const Bytes block = file.read(0, 96 + more);
  Hdf5Fields fields(block, "superblock");
  fields.skip(signature.size() + 5);
  const std::uint64_t offsets = fields.number(1);
  const std::uint64_t lengths = fields.number(1);
  require_wide_addresses(file, offsets, lengths);
  fields.skip(9 + more);  // sizes of tree nodes, flags
  Hdf5Superblock found;
  const std::uint64_t base = fields.address();
  found.free_space = fields.address();
  found.end = require_end(file, base, fields.address());
  found.driver = fields.address();
  fields.skip(8);
  found.root = fields.address();
  return found;
}

Hdf5Superblock read_new(Hdf5File& file) {
  const Bytes block = file.read(0, 48);
  Hdf5Fields fields(block, "superblock");
  fields.skip(signature.size() + 1);
  const std::uint64_t offsets = fields.number(1);
  const std::uint64_t lengths = fields.number(1);
  require_wide_addresses(file, offsets, lengths);
  const std::uint64_t flags = fields.number(1);
  Hdf5Superblock found;
  const std::uint64_t base = fields.address();
  found.extension = fields.address();
  found.end = require_end(file, base, fields.address());
  file.require_checksum(block, 0, "superblock");
  constexpr std::uint64_t open_for_writing = 1;
  if ((flags & open_for_writing) != 0) {
    file.warn("left-open",
              "the superblock says that a program has the file open for writing, or died so: HDF5 "
              "itself opens it only after `h5clear -s`");
  }
  found.root = fields.address();
  return found;
}

}  // namespace

bool starts_like_hdf5(ByteView head) {
  return as_text(head).starts_with(signature);
}

std::optional<std::uint64_t> hdf5_superblock_offset(const Source& source) {
  const auto stands_at = [&](std::uint64_t offset) {
    return as_text(source.read({offset, signature.size()})) == signature;
  };
  std::vector<Span> places;
  for (std::uint64_t offset = 0; offset <= source.size() && source.size() - offset >= signature.size();
       offset = offset == 0 ? least_user_block : 2 * offset) {
    places.push_back({offset, signature.size()});
  }
  for (const Span place : places) {
    if (stands_at(place.offset)) return place.offset;
    if (place.offset == 0) fetch_ahead(source, places);
  }
  return std::nullopt;
}

bool has_hdf5_behind(const Source& source) {
  return hdf5_superblock_offset(source).has_value();
}

Hdf5Superblock read_hdf5_superblock(Hdf5File& file) {
  const auto offset = hdf5_superblock_offset(file.source());
  if (!offset) file.fail("it has no superblock");
  file.set_base(*offset);
  const auto version = std::to_integer<std::uint64_t>(file.read(signature.size(), 1)[0]);
  if (version > 3) file.fail(fmt::format("superblock version {}", version));
  return version < 2 ? read_old(file, version) : read_new(file);
}

}  // namespace tare
