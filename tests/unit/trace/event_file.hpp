// TensorBoard's event files made by hand: TFRecords of Events (tensorboard/compat/proto/event.proto, summary.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/bytes.hpp"
#include "lib/base/crc32c.hpp"
#include "lib/base/text.hpp"
#include "lib/container/varint.hpp"

namespace tare::test {

inline std::string text_of(const Bytes& bytes) {
  return std::string(as_text(bytes));
}

inline Bytes bytes_of(std::string_view text) {
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

inline void add_run(Bytes& to, std::uint64_t field, const Bytes& run) {
  append_varint(to, field << 3 | 2);
  append_varint(to, run.size());
  to.insert(to.end(), run.begin(), run.end());
}

/// A field of 4 or 8 bytes.
template <typename Number>
void add_fixed(Bytes& to, std::uint64_t field, Number number) {
  append_varint(to, field << 3 | (sizeof(Number) == 4 ? 5 : 1));
  append_le(to, number);
}

inline void add_number(Bytes& to, std::uint64_t field, std::uint64_t number) {
  append_varint(to, field << 3);
  append_varint(to, number);
}

inline std::string tf_record(const Bytes& contents) {
  Bytes framed;
  append_le(framed, static_cast<std::uint64_t>(contents.size()));
  append_le(framed, masked_crc32c(framed));
  framed.insert(framed.end(), contents.begin(), contents.end());
  append_le(framed, masked_crc32c(contents));
  return text_of(framed);
}

/// An Event with one value, which is all but its tag.
inline std::string event_with(std::int64_t step, std::string_view tag, const Bytes& value) {
  Bytes named, summary, record;
  add_run(named, 1, bytes_of(tag));
  named.insert(named.end(), value.begin(), value.end());
  add_run(summary, 1, named);
  add_number(record, 2, static_cast<std::uint64_t>(step));
  add_run(record, 5, summary);
  return tf_record(record);
}

inline std::string event(std::int64_t step, std::string_view tag, float value) {
  Bytes simple;
  add_fixed(simple, 2, value);
  return event_with(step, tag, simple);
}

}  // namespace tare::test
