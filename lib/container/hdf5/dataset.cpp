#include "lib/container/hdf5/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/limits.hpp"
#include "lib/hdf5/layout.hpp"
#include "lib/hdf5/values.hpp"

namespace tare {
namespace {

Hdf5Layout require_in_one(const Hdf5Layout& layout) {
  using enum Hdf5Layout::Form;
  if (layout.form == chunked) throw Hdf5NotRead{"a chunked dataset, whose data may be compressed"};
  if (layout.form == virtual_data) throw Hdf5NotRead{"a virtual dataset, whose data are in other files"};
  return layout;
}

/// Keras says in an attribute what it stored as bytes without a type.
ElementType element_of(const Hdf5Type& type, Hdf5File& file, const Hdf5Header& header,
                       const std::vector<Hdf5Attribute>& attributes) {
  if (type.form == Hdf5Type::Form::number) return type.element;
  const auto says = std::find_if(attributes.begin(), attributes.end(),
                                 [](const Hdf5Attribute& attribute) { return attribute.name == "dtype"; });
  if (type.form == Hdf5Type::Form::blob && says != attributes.end()) {
    const auto texts = hdf5_texts(file, header, *says);
    const ElementType element = texts && texts->size() == 1 ? element_type(texts->front()) : ElementType{};
    if (element.size == type.size) return element;
  }
  throw Hdf5NotRead{fmt::format("a dataset of {} elements", type.name)};
}

std::uint64_t require_size(const Tensor& tensor) {
  const auto size = stored_size(tensor);
  if (!size) throw Hdf5NotRead{fmt::format("a shape of [{}]", fmt::join(tensor.shape, ", "))};
  return *size;
}

std::optional<Span> covered_by(const Hdf5File& file, const Hdf5Block& block) {
  constexpr std::size_t checksum_size = 4;
  if (!block.has_checksum) return std::nullopt;
  return Span{file.offset(block.address), block.bytes.size() - checksum_size};
}

Hdf5Dataset in_header(const Hdf5File& file, const Hdf5Header& header, const Hdf5Message& message, std::uint64_t begin,
                      StoredTensor stored) {
  const Hdf5Block& block = header.blocks[message.block];
  stored.place.offset = file.offset(block.address) + message.begin + begin;
  return {std::move(stored), true, covered_by(file, block)};
}

}  // namespace

std::optional<std::string> hdf5_dataset_text(Hdf5File& file, const Hdf5Header& header) {
  const Hdf5Type type = read_hdf5_type(header.data(header.require(Hdf5MessageType::datatype, "datatype")));
  if (type.form != Hdf5Type::Form::text || type.size > limits::max_text_value_bytes) return std::nullopt;
  const Hdf5Message& space = header.require(Hdf5MessageType::dataspace, "dataspace");
  if (!read_hdf5_shape(header.data(space)).empty()) return std::nullopt;
  const Hdf5Message& layout = header.require(Hdf5MessageType::layout, "layout");
  const Hdf5Layout place = require_in_one(read_hdf5_layout(header.data(layout)));
  const bool is_compact = place.form == Hdf5Layout::Form::compact;
  if (!is_compact && place.begin == hdf5_no_address) return std::nullopt;
  Hdf5Fields message(header.data(layout), "text");
  if (is_compact) message.skip(place.begin);
  const Bytes stored = is_compact ? Bytes() : file.read(place.begin, type.size);
  const std::string_view text = as_text(is_compact ? message.take(type.size) : ByteView(stored));
  return std::string(text.substr(0, text.find('\0')));
}

Hdf5Dataset read_hdf5_dataset(Hdf5File& file, const Hdf5Header& header, const std::vector<Hdf5Attribute>& attributes) {
  if (header.find(Hdf5MessageType::external_files) != nullptr) {
    throw Hdf5NotRead{"a dataset whose data are in other files (external storage)"};
  }
  const Hdf5Message& layout = header.require(Hdf5MessageType::layout, "layout");
  StoredTensor stored;
  stored.source = file.shared_source();
  stored.tensor.library = "tensor";
  stored.tensor.shape = read_hdf5_shape(header.data(header.require(Hdf5MessageType::dataspace, "dataspace")));
  const Hdf5Type type = read_hdf5_type(header.data(header.require(Hdf5MessageType::datatype, "datatype")));
  // First how it is stored: that is the better reason.
  const Hdf5Layout place = require_in_one(read_hdf5_layout(header.data(layout)));
  stored.tensor.type = element_of(type, file, header, attributes);
  stored.order = type.order;
  const std::uint64_t size = require_size(stored.tensor);
  stored.place.size = size;
  if (size == 0) return {std::move(stored), false, std::nullopt};
  if (place.form == Hdf5Layout::Form::compact) {
    if (place.begin > layout.size || size > layout.size - place.begin) {
      throw Hdf5NotRead{fmt::format("{} bytes of data, which its header has not", size)};
    }
    return in_header(file, header, layout, place.begin, std::move(stored));
  }
  if (place.begin == hdf5_no_address) throw Hdf5NotRead{"a dataset whose data were never written"};
  stored.place.offset = file.offset(place.begin);
  const std::uint64_t all = file.source().size();
  if (stored.place.offset > all || size > all - stored.place.offset) {
    throw Hdf5NotRead{
        fmt::format("{} bytes of data at offset {}, beyond the end of the file", size, stored.place.offset)};
  }
  return {std::move(stored), false, std::nullopt};
}

std::optional<std::vector<std::string>> hdf5_dataset_texts(Hdf5File& file, const Hdf5Header& header) {
  const Hdf5Type type = read_hdf5_type(header.data(header.require(Hdf5MessageType::datatype, "datatype")));
  const auto shape = read_hdf5_shape(header.data(header.require(Hdf5MessageType::dataspace, "dataspace")));
  if (type.form != Hdf5Type::Form::text || shape.size() != 1 || type.size == 0) return std::nullopt;
  const Bytes stored = read_hdf5_values(file, header, limits::max_state_bytes);
  std::vector<std::string> texts;
  for (ByteView rest = stored; rest.size() >= type.size; rest = rest.subspan(type.size)) {
    const std::string_view text = as_text(rest.first(type.size));
    texts.emplace_back(text.substr(0, text.find('\0')));
  }
  return texts;
}

bool is_hdf5_chunked(const Hdf5Header& header) {
  const Hdf5Message& layout = header.require(Hdf5MessageType::layout, "layout");
  return read_hdf5_layout(header.data(layout)).form == Hdf5Layout::Form::chunked;
}

Hdf5Dataset unpacked_hdf5_dataset(Hdf5File& file, const Hdf5Header& header, const std::string& name) {
  const Hdf5Type type = read_hdf5_type(header.data(header.require(Hdf5MessageType::datatype, "datatype")));
  StoredTensor stored;
  stored.tensor.library = "tensor";
  stored.tensor.shape = read_hdf5_shape(header.data(header.require(Hdf5MessageType::dataspace, "dataspace")));
  stored.tensor.type = element_of(type, file, header, {});
  stored.order = type.order;
  Bytes values = read_hdf5_values(file, header, limits::max_state_bytes);
  stored.place.size = require_size(stored.tensor);
  if (stored.place.size != values.size()) throw Hdf5NotRead{"chunks that are not as large as its shape says"};
  stored.source = std::make_shared<const MemorySource>(name, std::move(values));
  return {std::move(stored), false, std::nullopt};
}

Hdf5Dataset hdf5_attribute_tensor(const Hdf5File& file, const Hdf5Header& header, const Hdf5Attribute& attribute) {
  StoredTensor stored;
  stored.source = file.shared_source();
  stored.tensor.library = "tensor";
  stored.tensor.shape = attribute.shape;
  stored.tensor.type = attribute.type.element;
  stored.order = attribute.type.order;
  stored.place.size = require_size(stored.tensor);
  if (stored.place.size > attribute.value.size) throw Hdf5NotRead{"an attribute that is cut short"};
  return in_header(file, header, attribute.value, 0, std::move(stored));
}

}  // namespace tare
