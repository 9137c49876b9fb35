#include "lib/hdf5/dataset.hpp"

#include "lib/hdf5/chunks.hpp"
#include "lib/hdf5/layout.hpp"
#include "lib/hdf5/type.hpp"

namespace tare {

bool is_hdf5_dataset(const Hdf5Header& header) {
  return header.find(Hdf5MessageType::layout) != nullptr || header.find(Hdf5MessageType::dataspace) != nullptr;
}

bool is_hdf5_null(const Hdf5Header& header) {
  constexpr std::uint64_t null_space = 2;
  const Hdf5Message* message = header.find(Hdf5MessageType::dataspace);
  if (message == nullptr || message->is_shared) return false;
  Hdf5Fields fields(header.data(*message), "dataspace");
  if (fields.number(1) != 2) return false;
  fields.skip(2);
  return fields.number(1) == null_space;
}

std::uint64_t hdf5_data_size(const Hdf5Header& header) {
  constexpr std::uint64_t most = std::uint64_t{1} << 56;
  std::uint64_t size = read_hdf5_type(header.data(header.require(Hdf5MessageType::datatype, "datatype"))).size;
  const Hdf5Message& space = header.require(Hdf5MessageType::dataspace, "dataspace");
  for (const std::int64_t length : read_hdf5_shape(header.data(space))) {
    const auto count = static_cast<std::uint64_t>(length);
    if (count != 0 && size > most / count) throw Hdf5NotRead{"a dataset larger than any file"};
    size *= count;
  }
  return size;
}

std::vector<Span> read_hdf5_raw_data(Hdf5File& file, const Hdf5Header& header) {
  const Hdf5Layout layout = read_hdf5_layout(header.data(header.require(Hdf5MessageType::layout, "layout")));
  switch (layout.form) {
    case Hdf5Layout::Form::compact:
      return {};
    case Hdf5Layout::Form::contiguous:
      if (layout.begin == hdf5_no_address) return {};
      return {{layout.begin, hdf5_data_size(header)}};
    case Hdf5Layout::Form::chunked: {
      if (layout.begin == hdf5_no_address) return {};
      std::vector<Span> places;
      for (const Hdf5Chunk& chunk : read_hdf5_chunks(file, header, layout)) places.push_back(chunk.packed);
      return places;
    }
    case Hdf5Layout::Form::virtual_data:
      throw Hdf5NotRead{"a virtual dataset, whose data are in other files"};
  }
  return {};
}

}  // namespace tare
