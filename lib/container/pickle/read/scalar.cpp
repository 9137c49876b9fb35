// Opcodes that push a number or a piece of text.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "lib/base/letters.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/text.hpp"
#include "lib/container/pickle/read/line_text.hpp"
#include "lib/container/pickle/read/machine.hpp"

namespace tare {
namespace {

Node scalar(const PickleOp& op, Kind kind) {
  Node node;
  node.begin = static_cast<std::uint32_t>(op.begin);
  node.size = node_size(op.size);
  node.kind = kind;
  return node;
}

Node integer(const PickleOp& op, std::int64_t value) {
  Node node = scalar(op, Kind::integer);
  node.as.integer = value;
  return node;
}

bool is_decimal(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

/// Little-endian two's complement of any length, in decimal.
std::string decimal(ByteView bytes) {
  const bool negative = !bytes.empty() && (bytes.back() & std::byte{0x80}) != std::byte{0};
  std::vector<std::uint32_t> digits;  // base 10^9, least significant first
  constexpr std::size_t word_size = sizeof(std::uint32_t);
  for (std::size_t i = (bytes.size() + word_size - 1) / word_size; i-- > 0;) {
    std::uint64_t carry = 0;
    for (std::size_t at = word_size * (i + 1); at-- > word_size * i;) {
      const std::byte byte = at >= bytes.size() ? std::byte{0} : negative ? ~bytes[at] : bytes[at];
      carry = carry << 8 | std::to_integer<std::uint64_t>(byte);
    }
    for (std::uint32_t& digit : digits) {
      carry += std::uint64_t{digit} << 32;
      digit = static_cast<std::uint32_t>(carry % 1'000'000'000);
      carry /= 1'000'000'000;
    }
    for (; carry != 0; carry /= 1'000'000'000) digits.push_back(static_cast<std::uint32_t>(carry % 1'000'000'000));
  }
  // -x is ~x + 1.
  std::uint64_t carry = negative ? 1 : 0;
  for (std::uint32_t& digit : digits) {
    carry += digit;
    digit = static_cast<std::uint32_t>(carry % 1'000'000'000);
    carry /= 1'000'000'000;
  }
  if (carry != 0) digits.push_back(static_cast<std::uint32_t>(carry));
  std::string text = negative ? "-" : "";
  text += digits.empty() ? "0" : std::to_string(digits.back());
  for (std::size_t i = digits.size(); i-- > 1;) text += fmt::format("{:09}", digits[i - 1]);
  return text;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Python writes lone surrogates (surrogatepass): they are not UTF-8, but it reads them back.
std::string without_surrogates(std::string text) {
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) == 0xed && static_cast<unsigned char>(text[i + 1]) >= 0xa0) {
      text.replace(i, 3, "   ");
    }
  }
  return text;
}

}  // namespace

void PickleMachine::none(const PickleOp& op) {
  push(add(scalar(op, Kind::none)));
}

void PickleMachine::boolean(const PickleOp& op) {
  Node node = scalar(op, Kind::boolean);
  node.as.boolean = op.code == Opcode::newtrue;
  push(add(node));
}

void PickleMachine::small_integer(const PickleOp& op) {
  const std::byte* from = op.argument.data();
  const std::int64_t value = op.code == Opcode::binint1   ? std::to_integer<std::int64_t>(*from)
                             : op.code == Opcode::binint2 ? load_le<std::uint16_t>(from)
                                                          : load_le<std::int32_t>(from);
  push(add(integer(op, value)));
}

void PickleMachine::long_integer(const PickleOp& op) {
  // Bytes that only repeat the sign say nothing: an edit may have filled room with them.
  ByteView bytes = op.argument;
  const auto is_negative = [](std::byte top) { return (top & std::byte{0x80}) != std::byte{0}; };
  while (bytes.size() > 1 && bytes.back() == (is_negative(bytes[bytes.size() - 2]) ? std::byte{0xff} : std::byte{0})) {
    bytes = bytes.first(bytes.size() - 1);
  }
  if (bytes.size() <= sizeof(std::int64_t)) {
    std::int64_t value = !bytes.empty() && (bytes.back() & std::byte{0x80}) != std::byte{0} ? -1 : 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value * 256 + std::to_integer<std::int64_t>(bytes[i]);
    push(add(integer(op, value)));
    return;
  }
  if (bytes.size() > limits::max_integer_digits / 2) fail(op, fmt::format("an integer of {} bytes", bytes.size()));
  tree_.take_steps(bytes.size() * bytes.size() / 16);
  push(tree_.add_big_integer(decimal(bytes), op.span()));
}

void PickleMachine::integer_text(const PickleOp& op) {
  std::string_view text = as_text(op.argument);
  if (op.code == Opcode::int_text && (text == "00" || text == "01")) {
    Node node = scalar(op, Kind::boolean);
    node.as.boolean = text == "01";
    push(add(node));
    return;
  }
  if (text.ends_with('L') && op.code == Opcode::long_text) text.remove_suffix(1);
  if (!is_decimal(text)) fail(op, "an integer that is none");
  if (text.size() > limits::max_integer_digits) fail(op, fmt::format("an integer of {} digits", text.size()));
  if (text.front() == '+') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  push(error == std::errc() ? add(integer(op, value)) : tree_.add_big_integer(text, op.span()));
}

void PickleMachine::binary_float(const PickleOp& op) {
  Node node = scalar(op, Kind::floating);
  node.as.floating = load<double>(op.argument.data(), std::endian::big);
  push(add(node));
}

void PickleMachine::float_line(const PickleOp& op) {
  const auto value = parse_number(as_text(op.argument));
  if (!value) fail(op, "a float that is none");
  Node node = scalar(op, Kind::floating);
  node.as.floating = *value;
  push(add(node));
}

void PickleMachine::add_scalar(const PickleOp& op, Kind kind, Node::Run run) {
  Node node = scalar(op, kind);
  node.as.run = run;
  push(add(node));
}

void PickleMachine::unicode(const PickleOp& op) {
  const std::string_view text = as_text(op.argument);
  if (!is_ascii(text) && !is_utf8(text)) {
    if (!is_utf8(without_surrogates(std::string(text)))) fail(op, "text that is not UTF-8");
    note_once("lone-surrogate", "has text with a lone surrogate, which is no valid UTF-8");
  }
  string8(op);
}

void PickleMachine::byte_string(const PickleOp& op) {
  const auto first = static_cast<std::uint32_t>(op.end() - op.argument.size());
  add_scalar(op, Kind::bytes, {first, static_cast<std::uint32_t>(op.argument.size())});
}

void PickleMachine::string8(const PickleOp& op) {
  const auto first = static_cast<std::uint32_t>(op.end() - op.argument.size());
  add_scalar(op, Kind::string, {first, static_cast<std::uint32_t>(op.argument.size())});
}

void PickleMachine::string_line(const PickleOp& op) {
  std::string_view text = as_text(op.argument);
  const bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
  if (!quoted) fail(op, "a string without quotes");
  text = text.substr(1, text.size() - 2);
  push(tree_.add_side_text(Kind::string, unescaped(text), op.span()));
}

void PickleMachine::unicode_line(const PickleOp& op) {
  push(tree_.add_side_text(Kind::string, raw_unicode(as_text(op.argument)), op.span()));
}

}  // namespace tare
