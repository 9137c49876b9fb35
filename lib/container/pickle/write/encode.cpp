#include "lib/container/pickle/write/encode.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"

namespace tare {
namespace {

Bytes with_opcode(Opcode opcode) {
  return {static_cast<std::byte>(opcode)};
}

template <Plain T>
Bytes with_argument(Opcode opcode, T argument, std::endian order = std::endian::little) {
  Bytes bytes(1 + sizeof argument);
  bytes[0] = static_cast<std::byte>(opcode);
  store(bytes.data() + 1, argument, order);
  return bytes;
}

Bytes line(Opcode opcode, std::string_view text) {
  Bytes bytes(1 + text.size() + 1);
  bytes.front() = static_cast<std::byte>(opcode);
  std::ranges::copy(as_bytes(text), bytes.begin() + 1);
  bytes.back() = std::byte{'\n'};
  return bytes;
}

bool is_text(const PickleOp& op) {
  return facts(op.code).argument == Argument::line;
}

template <typename T>
bool fits(std::int64_t value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

/// The smallest opcode, as CPython chooses it: negative numbers are never K or M.
Bytes encode_smallest(std::int64_t value) {
  if (fits<std::uint8_t>(value)) return with_argument(Opcode::binint1, static_cast<std::uint8_t>(value));
  if (fits<std::uint16_t>(value)) return with_argument(Opcode::binint2, static_cast<std::uint16_t>(value));
  if (fits<std::int32_t>(value)) return with_argument(Opcode::binint, static_cast<std::int32_t>(value));
  return encode_long1(value, two_complement_size(value));
}

Bytes encode_integer_like(const PickleOp& old, std::int64_t value) {
  switch (old.code) {
    case Opcode::int_text:
      return line(old.code, std::to_string(value));
    case Opcode::long_text:
      return line(old.code, std::to_string(value) + "L");
    case Opcode::binint2:
      if (fits<std::uint16_t>(value)) return with_argument(old.code, static_cast<std::uint16_t>(value));
      break;
    case Opcode::binint:
      if (fits<std::int32_t>(value)) return with_argument(old.code, static_cast<std::int32_t>(value));
      break;
    case Opcode::long1:
      if (two_complement_size(value) <= old.argument.size()) return encode_long1(value, old.argument.size());
      break;
    default:
      break;
  }
  return encode_smallest(value);
}

}  // namespace

std::string utf8_of_latin1(ByteView bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    if (value >= 0x80) text += static_cast<char>(0xc0 | value >> 6);
    text += static_cast<char>(value < 0x80 ? value : 0x80 | (value & 0x3f));
  }
  return text;
}

std::size_t two_complement_size(std::int64_t value) {
  std::size_t count = 1;
  while (value >> (8 * count - 1) != (value < 0 ? -1 : 0)) ++count;  // at 8 bytes the sign alone is left
  return count;
}

Bytes encode_long1(std::int64_t value, std::size_t count) {
  Bytes bytes = with_argument(Opcode::long1, static_cast<std::uint8_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<std::byte>(value & 0xff));
    value >>= 8;
  }
  return bytes;
}

Bytes encode_like(const PickleOp& old, const NewNumber& value) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    if (is_text(old)) return line(Opcode::int_text, *flag ? "01" : "00");
    return with_opcode(*flag ? Opcode::newtrue : Opcode::newfalse);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    if (is_text(old)) return line(Opcode::float_text, float_text(*number));
    return with_argument(Opcode::binfloat, *number, std::endian::big);
  }
  const Integer& integer = std::get<Integer>(value);
  if (integer.is_big()) throw Error(Status::refused, "an integer beyond 64 bits is not written: " + integer.decimal);
  return encode_integer_like(old, integer.value);
}

Bytes encode_text_like(const PickleOp& old, std::string_view text) {
  const bool is_short = old.code == Opcode::short_binunicode && text.size() <= 255;
  if (old.code != Opcode::binunicode && old.code != Opcode::short_binunicode) {
    throw Error(Status::refused, "a text that is written in an unusual way is not changed");
  }
  Bytes bytes = is_short ? with_argument(Opcode::short_binunicode, static_cast<std::uint8_t>(text.size()))
                         : with_argument(Opcode::binunicode, static_cast<std::uint32_t>(text.size()));
  const ByteView argument = as_bytes(text);
  bytes.insert(bytes.end(), argument.begin(), argument.end());
  return bytes;
}

Bytes encode_bytes_like(const PickleOp& old, ByteView contents) {
  const bool is_latin1 = old.code == Opcode::binunicode || old.code == Opcode::short_binunicode;
  const std::string text = is_latin1 ? utf8_of_latin1(contents) : std::string(as_text(contents));
  const auto size = static_cast<std::uint64_t>(text.size());
  const OpcodeFacts& known = facts(old.code);
  if (known.argument != Argument::counted) {
    throw Error(Status::refused, "an array written as text lines is not changed");
  }
  if (known.size < sizeof size && size >> 8 * known.size != 0) {
    throw Error(Status::refused, "an array of that size does not fit its opcode");
  }
  Bytes bytes{static_cast<std::byte>(old.code)};
  append_le(bytes, size);
  bytes.resize(1 + known.size);
  const ByteView argument = as_bytes(text);
  bytes.insert(bytes.end(), argument.begin(), argument.end());
  return bytes;
}

}  // namespace tare
