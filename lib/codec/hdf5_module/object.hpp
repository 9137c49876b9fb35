// An object's header (version 1) and what its messages say: type, shape, attributes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/codec/hdf5_module/image.hpp"
#include "lib/codec/hdf5_table.h"

namespace tare::hdf5 {

enum class MessageType : std::uint16_t {
  nil = 0,
  dataspace = 1,
  link_info = 2,
  datatype = 3,
  old_fill_value = 4,
  fill_value = 5,
  link = 6,
  layout = 8,
  group_info = 10,
  filters = 11,
  attribute = 12,
  continuation = 16,
  symbol_table = 17,
};

struct Message {
  MessageType type;
  ByteView bytes;
};

class Object {
 public:
  /// Throws `corrupt` for messages of kinds that no state has: other files, shared types, links by name.
  Object(Image& image, std::uint64_t address, std::string place);

  [[nodiscard]] const std::string& place() const { return place_; }
  [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }
  /// Null where there is none.
  [[nodiscard]] const Message* find(MessageType type) const;
  /// Throws where there is none.
  [[nodiscard]] ByteView require(MessageType type, const char* what) const;
  /// The text of an attribute; empty where there is none. Throws for one that is no text.
  [[nodiscard]] std::string text(std::string_view name) const;

 private:
  std::string place_;
  std::vector<Message> messages_;
};

/// One of our elements, and the bytes of each.
struct ElementType {
  std::int32_t element = TARE_HDF5_NULL;
  std::uint64_t size = 0;
};
ElementType read_type(ByteView message, const std::string& place);

struct Shape {
  bool is_null = false;
  std::vector<std::uint64_t> sizes;  ///< none: a scalar
};
Shape read_shape(ByteView message, const std::string& place);

}  // namespace tare::hdf5
