// Numbers as pickle opcodes.
#pragma once

#include <string>

#include "lib/base/bytes.hpp"
#include "lib/container/node_change.hpp"
#include "lib/container/pickle/read/opcode.hpp"

namespace tare {

/// The opcode that stands for `value` where `old` stood. An int keeps old's opcode where that can hold it, so that its
/// size stays; text stays text. Throws `refused` for an int beyond 64 bits.
Bytes encode_like(const PickleOp& old, const NewNumber& value);

/// LONG1 with `count` bytes: longer than need be is allowed, and fills a gap. REQUIRES: `count` bytes hold the value.
Bytes encode_long1(std::int64_t value, std::size_t count);

/// The fewest bytes of two's complement that hold `value`.
std::size_t two_complement_size(std::int64_t value);

/// Another text in place of `old`. Throws `refused` where that is no length-prefixed text.
Bytes encode_text_like(const PickleOp& old, std::string_view text);

/// Bytes as pickles up to protocol 2 spell them: each a character of latin-1, in UTF-8.
std::string utf8_of_latin1(ByteView bytes);

/// The opcode `old` with other contents: bytes, or text where `old` is one of the text opcodes that stand for bytes
/// (latin-1 in UTF-8).
Bytes encode_bytes_like(const PickleOp& old, ByteView contents);

}  // namespace tare
