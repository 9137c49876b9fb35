#include "lib/hdf5/attribute.hpp"

#include <algorithm>

#include "lib/hdf5/heap.hpp"

namespace tare {
namespace {

/// Parts of version 1 are padded to a multiple of 8 bytes.
std::uint64_t padded(std::uint64_t size, std::uint64_t version) {
  return version == 1 ? (size + 7) / 8 * 8 : size;
}

Hdf5Attribute read_attribute(const Hdf5Header& header, const Hdf5Message& message) {
  constexpr std::uint64_t shared_parts = 3;
  Hdf5Fields fields(header.data(message), "attribute");
  const std::uint64_t version = fields.number(1);
  const std::uint64_t flags = fields.number(1);
  if (version < 1 || version > 3) throw Hdf5NotRead{"an attribute of an unknown version"};
  if (version > 1 && (flags & shared_parts) != 0) throw Hdf5NotRead{"an attribute whose type stands elsewhere"};
  const std::uint64_t name_size = fields.number(2);
  const std::uint64_t type_size = fields.number(2);
  const std::uint64_t space_size = fields.number(2);
  if (version == 3) fields.skip(1);
  Hdf5Attribute attribute;
  const std::string_view name = as_text(fields.take(padded(name_size, version)));
  attribute.name = name.substr(0, name.find('\0'));
  attribute.type = read_hdf5_type(fields.take(padded(type_size, version)));
  attribute.shape = read_hdf5_shape(fields.take(padded(space_size, version)));
  attribute.value = message;
  attribute.value.size = fields.rest().size();
  attribute.value.begin = message.begin + message.size - attribute.value.size;
  return attribute;
}

}  // namespace

std::vector<Hdf5Attribute> read_hdf5_attributes(Hdf5File& file, const Hdf5Header& header, const std::string& path) {
  std::vector<Hdf5Attribute> attributes;
  for (const Hdf5Message& message : header.messages) {
    if (message.type != Hdf5MessageType::attribute) continue;
    try {
      if (message.is_shared) throw Hdf5NotRead{"an attribute that stands elsewhere"};
      attributes.push_back(read_attribute(header, message));
    } catch (const Hdf5NotRead& problem) {
      file.warn("attribute-not-read", problem.why, path);
    }
  }
  return attributes;
}

std::optional<std::vector<std::string>> hdf5_texts(Hdf5File& file, const Hdf5Header& header,
                                                   const Hdf5Attribute& attribute, const Hdf5TextBounds& bounds) {
  const bool is_variable = attribute.type.form == Hdf5Type::Form::variable_text;
  if (!is_variable && attribute.type.form != Hdf5Type::Form::text) return std::nullopt;
  std::uint64_t count = 1;
  for (const std::int64_t size : attribute.shape) {
    if (size < 0 || static_cast<std::uint64_t>(size) > bounds.most) return std::nullopt;
    count *= static_cast<std::uint64_t>(size);
    if (count > bounds.most) return std::nullopt;
  }
  Hdf5Fields elements(header.data(attribute.value), "attribute");
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < count; ++i) {
    const ByteView element = elements.take(attribute.type.size);
    if (is_variable) {
      const Span text = find_hdf5_global(file, read_hdf5_heap_id(element));
      if (text.size > bounds.longest) return std::nullopt;
      texts.emplace_back(as_text(file.read(text.offset, text.size)));
    } else {
      const std::string_view text = as_text(element).substr(0, bounds.longest);
      texts.emplace_back(text.substr(0, text.find('\0')));
    }
  }
  return texts;
}

}  // namespace tare
