#include "lib/codec/hdf5_module/object.hpp"

#include <algorithm>
#include <deque>

namespace tare::hdf5 {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t shared = 2;  // a message that stands elsewhere
constexpr std::uint64_t max_text_bytes = 4096;

bool is_known(MessageType type) {
  switch (type) {
    case MessageType::nil:
    case MessageType::dataspace:
    case MessageType::link_info:
    case MessageType::datatype:
    case MessageType::old_fill_value:
    case MessageType::fill_value:
    case MessageType::link:
    case MessageType::layout:
    case MessageType::group_info:
    case MessageType::filters:
    case MessageType::attribute:
    case MessageType::continuation:
    case MessageType::symbol_table:
      return true;
  }
  return false;
}

std::uint64_t padded(std::uint64_t size) {
  return (size + 7) / 8 * 8;
}

/// The text up to its padding of NULs.
std::string unpadded(ByteView bytes) {
  const std::string_view text = as_text(bytes);
  return std::string(text.substr(0, text.find('\0')));
}

std::string read_text(Fields fields, std::uint64_t type_size, std::uint64_t shape_size, const std::string& place) {
  const ElementType type = read_type(fields.take(padded(type_size)), place);
  const Shape shape = read_shape(fields.take(padded(shape_size)), place);
  if (type.element != TARE_HDF5_TEXT || shape.is_null || !shape.sizes.empty()) refuse(place, "no text");
  if (type.size > max_text_bytes) refuse(place, std::to_string(type.size) + " bytes of text are too many");
  return unpadded(fields.take(type.size));
}

}  // namespace

Object::Object(Image& image, std::uint64_t address, std::string place) : place_(std::move(place)) {
  constexpr std::uint64_t prefix_size = 16;
  constexpr std::size_t message_head = 8;
  Fields prefix = image.metadata(address, prefix_size, place_);
  prefix.require(1, 1, "an object header of version");
  prefix.skip(7);
  std::deque<Fields> blocks{image.metadata(address + prefix_size, prefix.number(4), place_)};
  for (; !blocks.empty(); blocks.pop_front()) {
    Fields& block = blocks.front();
    while (block.left() >= message_head) {
      const auto type = static_cast<MessageType>(block.number(2));
      const std::uint64_t size = block.number(2);
      const std::uint64_t flags = block.number(1);
      block.skip(3);
      const ByteView bytes = block.take(size);
      if (!is_known(type) || (flags & shared) != 0) refuse(place_, "is kept as no state is");
      if (type == MessageType::continuation) {
        Fields next(bytes, place_);
        const std::uint64_t begin = next.address();
        blocks.push_back(image.metadata(begin, next.number(8), place_));
      } else {
        messages_.push_back({type, bytes});
      }
    }
  }
}

const Message* Object::find(MessageType type) const {
  const auto found = std::ranges::find(messages_, type, &Message::type);
  return found == messages_.end() ? nullptr : &*found;
}

ByteView Object::require(MessageType type, const char* what) const {
  const Message* message = find(type);
  if (message == nullptr) refuse(place_, std::string("has no ") + what);
  return message->bytes;
}

std::string Object::text(std::string_view name) const {
  for (const Message& message : messages_) {
    if (message.type != MessageType::attribute) continue;
    Fields fields(message.bytes, place_);
    fields.require(1, 1, "an attribute of version");
    fields.skip(1);
    const std::uint64_t name_size = fields.number(2);
    const std::uint64_t type_size = fields.number(2);
    const std::uint64_t shape_size = fields.number(2);
    if (unpadded(fields.take(padded(name_size))) != name) continue;
    return read_text(fields, type_size, shape_size, place_ + ": attribute \"" + std::string(name) + "\"");
  }
  return {};
}

ElementType read_type(ByteView message, const std::string& place) {
  static constexpr struct {
    std::string_view bytes;
    ElementType type;
  } known[] = {
      {"\x10\x08\0\0\x08\0\0\0\0\0\x40\0"sv, {TARE_HDF5_I64, 8}},
      {"\x11\x20\x3f\0\x08\0\0\0\0\0\x40\0\x34\x0b\0\x34\xff\x03\0\0"sv, {TARE_HDF5_F64, 8}},
      {"\x11\x20\x1f\0\x04\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0"sv, {TARE_HDF5_F32, 4}},
      {"\x18\x02\0\0\x01\0\0\0\x10\x08\0\0\x01\0\0\0\0\0\x08\0FALSE\0\0\0TRUE\0\0\0\0\0\x01"sv, {TARE_HDF5_BOOL, 1}},
  };
  constexpr std::string_view text = "\x13\x11\0\0"sv;  // of UTF-8, padded with NULs; its width follows
  const std::string_view bytes = as_text(message);
  for (const auto& [begin, type] : known) {
    if (bytes.starts_with(begin)) return type;
  }
  if (!bytes.starts_with(text)) refuse(place, "is of a type that no state has");
  Fields fields(message.subspan(text.size()), place);
  const std::uint64_t width = fields.number(4);
  if (width == 0) refuse(place, "is text of no width");
  return {TARE_HDF5_TEXT, width};
}

Shape read_shape(ByteView message, const std::string& place) {
  constexpr std::uint64_t null = 2;
  Fields fields(message, place);
  const std::uint64_t version = fields.number(1);
  const std::uint64_t rank = fields.number(1);
  fields.skip(1);  // whether the largest sizes follow the sizes, which are the same
  if (version == 2) {
    fields.require(1, null, "a shape of kind");
    return {true, {}};
  }
  if (version != 1) refuse(place, "a shape of version " + std::to_string(version));
  if (rank > TARE_HDF5_MAX_RANK) refuse(place, std::to_string(rank) + " dimensions are too many");
  fields.skip(5);
  Shape shape;
  for (std::uint64_t i = 0; i < rank; ++i) shape.sizes.push_back(fields.number(8));
  return shape;
}

}  // namespace tare::hdf5
