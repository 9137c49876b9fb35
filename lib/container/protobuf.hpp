// Protobuf's wire format, field by field, in a file: what is hopped over is never read.
// Source: the encoding page of protobuf.dev.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/source.hpp"

namespace tare {

struct ProtobufField {
  std::uint64_t number = 0;
  bool is_run = false;      ///< bytes, text, a message, packed numbers: in `run`. Else a number: in `value`
  std::uint64_t value = 0;  ///< of a varint, or the bits of a fixed-size number
  Span run;                 ///< in the file
};

/// Reads small windows of `source`, forwards at best.
class ProtobufReader {
 public:
  explicit ProtobufReader(const Source& source) : source_(source) {}

  /// Takes the field at the front of `message`, which is a run of the file and is left with what stands behind it.
  /// Throws `corrupt` where there is no field, or it reaches past the message's end. REQUIRES: a message that is not
  /// empty and lies in the file.
  ProtobufField take(Span& message);
  /// Adds what a field of a repeated number holds: one, or all of a packed run. Throws `corrupt` beyond `most` of them.
  void add_numbers(const ProtobufField& field, std::vector<std::int64_t>& to, std::size_t most);
  /// Throws `corrupt` where it is longer than `most` bytes.
  std::string text(Span run, std::uint64_t most);

 private:
  std::uint64_t take_number(Span& from);
  /// Those bytes, and more behind them kept for the next call.
  ByteView window(Span wanted);
  [[noreturn]] void fail(std::uint64_t offset, const std::string& problem) const;

  const Source& source_;
  Bytes window_;
  std::uint64_t window_at_ = 0;
};

}  // namespace tare
