// Protobuf's wire format in memory. Source: the encoding page of protobuf.dev.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/bytes.hpp"
#include "lib/container/varint.hpp"

namespace tare {

struct WireField {
  std::uint64_t number = 0;
  bool is_run = false;      ///< bytes, text or a message: in `run`. Else a number: in `value`
  std::uint64_t value = 0;  ///< of a varint, or the bits of a fixed-size number
  ByteView run = {};
};

/// Takes the field at the front of `message`; nothing at its end, or where it is damaged.
inline std::optional<WireField> take_field(ByteView& message) {
  const auto tag = take_varint(message);
  if (!tag || *tag >> 3 == 0) return {};
  WireField field{.number = *tag >> 3};
  const auto take_fixed = [&](std::size_t size) -> bool {
    if (message.size() < size) return false;
    field.value = size == 8 ? load_le<std::uint64_t>(message.data()) : load_le<std::uint32_t>(message.data());
    message = message.subspan(size);
    return true;
  };
  switch (*tag & 7) {
    case 0: {
      const auto value = take_varint(message);
      if (!value) return {};
      field.value = *value;
      return field;
    }
    case 1:
      return take_fixed(8) ? std::optional(field) : std::nullopt;
    case 2: {
      const auto size = take_varint(message);
      if (!size || *size > message.size()) return {};
      field.is_run = true;
      field.run = message.first(static_cast<std::size_t>(*size));
      message = message.subspan(static_cast<std::size_t>(*size));
      return field;
    }
    case 5:
      return take_fixed(4) ? std::optional(field) : std::nullopt;
    default:
      return {};
  }
}

}  // namespace tare
