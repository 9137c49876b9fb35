#include "lib/container/pickle/read/opcode.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"

namespace tare {

void fail_pickle(std::string_view source, std::uint64_t offset, std::string_view problem) {
  throw Error(
      Status::corrupt, fmt::format("{}: pickle at offset {}: {}", source, offset, problem),
      "the pickle is damaged or cut short, or made so: Python runs what stands before that place, and then fails");
}

void fail_opcode(std::string_view source, std::uint64_t offset, std::byte byte) {
  fail_pickle(source, offset, fmt::format("byte 0x{:02x} is no opcode", std::to_integer<unsigned>(byte)));
}

ByteView PickleScanner::counted(std::size_t count_bytes) const {
  const ByteView rest = text_.subspan(next_ + 1);
  if (rest.size() < count_bytes) fail(next_, "the length of an argument passes the end");
  const std::uint64_t length = count_of(rest.first(count_bytes));
  if (length > rest.size() - count_bytes) {
    fail(next_, fmt::format("an argument of {} bytes passes the end", length));
  }
  return rest.subspan(count_bytes, length);
}

ByteView PickleScanner::line(std::uint64_t from) const {
  const ByteView rest = text_.subspan(from);
  const auto newline = std::find(rest.begin(), rest.end(), std::byte{'\n'});
  if (newline == rest.end()) fail(next_, "a line that never ends");
  return rest.first(static_cast<std::size_t>(newline - rest.begin()));
}

PickleOp PickleScanner::next_of_any_size() {
  PickleOp op;
  op.begin = next_;
  op.code = static_cast<Opcode>(text_[next_]);
  const OpcodeFacts& known = facts(op.code);
  switch (known.argument) {
    case Argument::invalid:
      fail_opcode(source_, next_, text_[next_]);
    case Argument::fixed:
      fail(next_, "an argument passes the end");
    case Argument::counted:
      op.argument = counted(known.size);
      op.size = 1 + known.size + op.argument.size();
      break;
    case Argument::line:
      op.argument = line(next_ + 1);
      op.size = op.argument.size() + 2;
      break;
    case Argument::two_lines: {
      const std::size_t first = line(next_ + 1).size();
      const std::size_t second = line(next_ + 2 + first).size();
      op.argument = text_.subspan(next_ + 1, first + 1 + second);
      op.size = op.argument.size() + 2;
      break;
    }
  }
  next_ += op.size;
  return op;
}

}  // namespace tare
