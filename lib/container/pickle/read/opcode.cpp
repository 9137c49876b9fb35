#include "lib/container/pickle/read/opcode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "lib/base/error.hpp"

namespace tare {
namespace {

struct OpcodeArgument {
  std::string_view opcodes;
  Argument argument;
};

constexpr OpcodeArgument arguments[] = {
    {"(.012NQRabde}]los)tu", Argument::none},
    {"\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98", Argument::none},
    {"Khq\x80\x82", Argument::fixed1},
    {"M\x83", Argument::fixed2},
    {"Jjr\x84", Argument::fixed4},
    {"G\x95", Argument::fixed8},
    {"FILPSVgp", Argument::line},
    {"ci", Argument::two_lines},
    {"UC\x8a\x8c", Argument::counted1},
    {"TXB\x8b", Argument::counted4},
    {"\x8d\x8e\x96", Argument::counted8},
};

constexpr std::array<Argument, 256> argument_table() {
  std::array<Argument, 256> table{};
  for (const OpcodeArgument& row : arguments) {
    for (const char opcode : row.opcodes) table[static_cast<unsigned char>(opcode)] = row.argument;
  }
  return table;
}

constexpr auto table = argument_table();

constexpr std::array<std::uint8_t, 256> size_table() {
  std::array<std::uint8_t, 256> sizes{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    switch (table[i]) {
      case Argument::none:
        sizes[i] = 0;
        break;
      case Argument::fixed1:
        sizes[i] = 1;
        break;
      case Argument::fixed2:
        sizes[i] = 2;
        break;
      case Argument::fixed4:
        sizes[i] = 4;
        break;
      case Argument::fixed8:
        sizes[i] = 8;
        break;
      default:
        sizes[i] = any_size;
    }
  }
  return sizes;
}

}  // namespace

constexpr std::array<std::uint8_t, 256> fixed_argument_size = size_table();

Argument argument_of(std::uint8_t opcode) {
  return table[opcode];
}

void PickleScanner::fail(std::uint64_t offset, std::string_view problem) const {
  throw Error(
      Status::corrupt, fmt::format("{}: pickle at offset {}: {}", source_, offset, problem),
      "the pickle is damaged or cut short, or made so: Python runs what stands before that place, and then fails");
}

ByteView PickleScanner::counted(std::size_t length_bytes) const {
  const ByteView rest = text_.subspan(next_ + 1);
  if (rest.size() < length_bytes) fail(next_, "the length of an argument passes the end");
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(rest[i]);
  if (length > rest.size() - length_bytes) {
    fail(next_, fmt::format("an argument of {} bytes passes the end", length));
  }
  return rest.subspan(length_bytes, length);
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
  const auto byte = std::to_integer<std::uint8_t>(text_[next_]);
  op.code = static_cast<Opcode>(byte);
  const auto after_length = [&](std::size_t length_bytes) {
    op.argument = counted(length_bytes);
    op.size = 1 + length_bytes + op.argument.size();
  };
  switch (table[byte]) {
    case Argument::invalid:
      fail(next_, fmt::format("byte 0x{:02x} is no opcode", byte));
    case Argument::counted1:
      after_length(1);
      break;
    case Argument::counted4:
      after_length(4);
      break;
    case Argument::counted8:
      after_length(8);
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
    default:
      fail(next_, "an argument passes the end");
  }
  next_ += op.size;
  return op;
}

}  // namespace tare
