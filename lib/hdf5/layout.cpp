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

/// Versions 1 and 2, of HDF5 before 1.6.3.
Hdf5Layout read_old(Hdf5Fields fields, std::size_t message_size) {
  Hdf5Layout layout;
  layout.dimensions = fields.number(1);
  layout.form = form_of(fields.number(1));
  fields.skip(5);
  if (layout.form != compact) {
    layout.begin = fields.address();
    return layout;
  }
  fields.skip(4 * layout.dimensions + 4);
  layout.begin = message_size - fields.rest().size();
  return layout;
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
  } else if (layout.form == chunked && version == 3) {
    layout.dimensions = fields.number(1);
    layout.begin = fields.address();
  }
  return layout;
}

}  // namespace tare
