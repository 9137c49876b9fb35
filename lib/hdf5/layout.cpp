#include "lib/hdf5/layout.hpp"

#include <fmt/format.h>

namespace tare {
namespace {

using enum Hdf5Layout::Form;

Hdf5Layout::Form form_of(std::uint64_t number) {
  if (number > static_cast<std::uint64_t>(virtual_data)) {
    throw Hdf5NotRead{fmt::format("a layout of unknown class {}", number)};
  }
  return static_cast<Hdf5Layout::Form>(number);
}

std::vector<std::uint64_t> read_chunk(Hdf5Fields& fields, std::uint64_t dimensions, std::size_t size) {
  constexpr std::uint64_t max_dimensions = 33;
  if (dimensions < 2 || dimensions > max_dimensions) throw Hdf5NotRead{"chunks of more dimensions than HDF5 allows"};
  std::vector<std::uint64_t> chunk;
  for (std::uint64_t i = 0; i < dimensions; ++i) chunk.push_back(fields.number(size));
  return chunk;
}

/// Versions 1 and 2, of HDF5 before 1.6.3.
Hdf5Layout read_old(Hdf5Fields fields, std::size_t message_size) {
  Hdf5Layout layout;
  const std::uint64_t dimensions = fields.number(1);
  layout.form = form_of(fields.number(1));
  fields.skip(5);
  if (layout.form != compact) {
    layout.begin = fields.address();
    if (layout.form == chunked) layout.chunk = read_chunk(fields, dimensions, 4);
    return layout;
  }
  fields.skip(4 * dimensions + 4);
  layout.begin = message_size - fields.rest().size();
  return layout;
}

Hdf5Layout::Index index_of(std::uint64_t number) {
  if (number < 1 || number > static_cast<std::uint64_t>(Hdf5Layout::Index::btree2)) {
    throw Hdf5NotRead{fmt::format("a chunked dataset whose index is of unknown kind {}", number)};
  }
  return static_cast<Hdf5Layout::Index>(number);
}

/// Of HDF5 1.10 and later.
void read_chunked(Hdf5Layout& layout, Hdf5Fields& fields) {
  constexpr std::uint64_t is_packed = 2;
  constexpr std::uint64_t edges_are_not = 1;
  const std::uint64_t flags = fields.number(1);
  if ((flags & edges_are_not) != 0) throw Hdf5NotRead{"a chunked dataset that is packed but for its edges"};
  const std::uint64_t dimensions = fields.number(1);
  const std::uint64_t size = fields.number(1);
  if (size < 1 || size > 8) throw Hdf5NotRead{"a layout message that makes no sense"};
  layout.chunk = read_chunk(fields, dimensions, size);
  layout.index = index_of(fields.number(1));
  switch (layout.index) {
    case Hdf5Layout::Index::single:
      if ((flags & is_packed) == 0) break;
      layout.packed_size = fields.length();
      layout.skipped = fields.number(4);
      break;
    case Hdf5Layout::Index::fixed_array:
      fields.skip(1);
      break;
    case Hdf5Layout::Index::extensible_array:
      fields.skip(5);
      break;
    case Hdf5Layout::Index::btree2:
      fields.skip(6);
      break;
    default:
      break;
  }
  layout.begin = fields.address();
}

}  // namespace

Hdf5Layout read_hdf5_layout(ByteView message) {
  Hdf5Fields fields(message, "layout message");
  const std::uint64_t version = fields.number(1);
  if (version < 1 || version > 5) throw Hdf5NotRead{fmt::format("a layout message of version {}", version)};
  if (version < 3) return read_old(fields, message.size());
  Hdf5Layout layout;
  layout.form = form_of(fields.number(1));
  if (layout.form == compact) {
    fields.skip(2);
    layout.begin = message.size() - fields.rest().size();
  } else if (layout.form == contiguous) {
    layout.begin = fields.address();
    layout.size = fields.length();
  } else if (layout.form == chunked && version > 3) {
    read_chunked(layout, fields);
  } else if (layout.form == chunked) {
    const std::uint64_t dimensions = fields.number(1);
    layout.begin = fields.address();
    layout.chunk = read_chunk(fields, dimensions, 4);
  }
  return layout;
}

}  // namespace tare
