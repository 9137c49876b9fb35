// The pickle language, protocols 0 to 5: its opcodes, how long their arguments are, and who accepts them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "lib/base/bytes.hpp"

namespace tare {

enum class Opcode : std::uint8_t {
  mark = '(',
  stop = '.',
  pop = '0',
  pop_mark = '1',
  dup = '2',
  float_text = 'F',
  int_text = 'I',
  binint = 'J',
  binint1 = 'K',
  long_text = 'L',
  binint2 = 'M',
  none = 'N',
  persid = 'P',
  binpersid = 'Q',
  reduce = 'R',
  string_text = 'S',
  binstring = 'T',
  short_binstring = 'U',
  unicode_text = 'V',
  binunicode = 'X',
  append = 'a',
  build = 'b',
  global = 'c',
  dict = 'd',
  empty_dict = '}',
  appends = 'e',
  get = 'g',
  binget = 'h',
  inst = 'i',
  long_binget = 'j',
  list = 'l',
  empty_list = ']',
  obj = 'o',
  put = 'p',
  binput = 'q',
  long_binput = 'r',
  setitem = 's',
  tuple = 't',
  empty_tuple = ')',
  setitems = 'u',
  binfloat = 'G',
  proto = 0x80,
  newobj = 0x81,
  ext1 = 0x82,
  ext2 = 0x83,
  ext4 = 0x84,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8a,
  long4 = 0x8b,
  binbytes = 'B',
  short_binbytes = 'C',
  short_binunicode = 0x8c,
  binunicode8 = 0x8d,
  binbytes8 = 0x8e,
  empty_set = 0x8f,
  additems = 0x90,
  frozenset = 0x91,
  newobj_ex = 0x92,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95,
  bytearray8 = 0x96,
  next_buffer = 0x97,
  readonly_buffer = 0x98,
};

/// Those that give the value on top a number in the memo.
constexpr bool memoizes(Opcode code) {
  return code == Opcode::put || code == Opcode::binput || code == Opcode::long_binput || code == Opcode::memoize;
}

/// What follows the opcode byte.
enum class Argument : std::uint8_t {
  invalid,  ///< no such opcode
  fixed,    ///< so many bytes
  counted,  ///< a count of so many bytes, then as many as it says
  line,     ///< up to and with a newline
  two_lines,
};

/// What an opcode takes from the stack and puts there. What it only looks at, or adds to, it takes and puts back.
struct StackEffect {
  std::uint8_t takes = 0;
  std::uint8_t puts = 0;
  bool to_mark = false;  ///< before that, all above a mark, and the mark
};

/// All that is known of an opcode without running it: the one table of the language.
struct OpcodeFacts {
  Argument argument = Argument::invalid;
  std::uint8_t size = 0;  ///< bytes of a fixed argument, or of the count
  StackEffect stack;
};

namespace detail {

struct OpcodeRow {
  std::string_view opcodes;
  OpcodeFacts facts;
};

inline constexpr OpcodeRow opcode_rows[] = {
    {"(.", {Argument::fixed, 0, {0, 0}}},
    {"\x80", {Argument::fixed, 1, {0, 0}}},
    {"\x95", {Argument::fixed, 8, {0, 0}}},
    {"2N)]}\x88\x89\x8f\x97", {Argument::fixed, 0, {0, 1}}},
    {"Kh\x82", {Argument::fixed, 1, {0, 1}}},
    {"M\x83", {Argument::fixed, 2, {0, 1}}},
    {"Jj\x84", {Argument::fixed, 4, {0, 1}}},
    {"G", {Argument::fixed, 8, {0, 1}}},
    {"UC\x8a\x8c", {Argument::counted, 1, {0, 1}}},
    {"TXB\x8b", {Argument::counted, 4, {0, 1}}},
    {"\x8d\x8e\x96", {Argument::counted, 8, {0, 1}}},
    {"FILPSVg", {Argument::line, 0, {0, 1}}},
    {"c", {Argument::two_lines, 0, {0, 1}}},
    {"i", {Argument::two_lines, 0, {0, 1, true}}},
    {"0", {Argument::fixed, 0, {1, 0}}},
    {"Q\x85\x94\x98", {Argument::fixed, 0, {1, 1}}},
    {"q", {Argument::fixed, 1, {1, 1}}},
    {"r", {Argument::fixed, 4, {1, 1}}},
    {"p", {Argument::line, 0, {1, 1}}},
    {"Rab\x81\x86\x93", {Argument::fixed, 0, {2, 1}}},
    {"s\x87\x92", {Argument::fixed, 0, {3, 1}}},
    {"1", {Argument::fixed, 0, {0, 0, true}}},
    {"dlot\x91", {Argument::fixed, 0, {0, 1, true}}},
    {"eu\x90", {Argument::fixed, 0, {1, 1, true}}},
};

}  // namespace detail

inline constexpr auto opcodes = [] {
  std::array<OpcodeFacts, 256> table{};
  for (const detail::OpcodeRow& row : detail::opcode_rows) {
    for (const char opcode : row.opcodes) table[static_cast<unsigned char>(opcode)] = row.facts;
  }
  return table;
}();

constexpr const OpcodeFacts& facts(Opcode code) {
  return opcodes[static_cast<std::uint8_t>(code)];
}

/// The number that a count of up to 8 bytes is.
constexpr std::uint64_t count_of(ByteView bytes) {
  std::uint64_t count = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) count = count << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return count;
}

/// Throws `corrupt` with the place in a pickle of `source`.
[[noreturn]] void fail_pickle(std::string_view source, std::uint64_t offset, std::string_view problem);
/// The same for a byte that is no opcode.
[[noreturn]] void fail_opcode(std::string_view source, std::uint64_t offset, std::byte byte);

/// One opcode with its place.
struct PickleOp {
  Opcode code{};
  std::uint64_t begin = 0;  ///< of the opcode byte, in the text
  std::uint64_t size = 0;   ///< opcode and argument
  ByteView argument;        ///< without the length before it or the newline behind it (two lines: "a\nb")

  [[nodiscard]] std::uint64_t end() const { return begin + size; }
  [[nodiscard]] Span span() const { return {begin, size}; }
};

/// Reads one opcode after the other. Throws `corrupt`, naming `source` and the offset, for a byte that is no opcode and
/// an argument that passes the end. Frames are opcodes like any other: their contents follow.
class PickleScanner {
 public:
  PickleScanner(ByteView text, std::string_view source, std::uint64_t begin = 0)
      : text_(text), source_(source), next_(begin) {}

  PickleOp next() {
    if (next_ >= text_.size()) fail(next_, "ends before STOP");
    const auto code = static_cast<Opcode>(text_[next_]);
    const auto [argument, size, effect] = facts(code);
    // Most opcodes are of a fixed size: they are told apart from the rest by one look at a table.
    if (argument != Argument::fixed || text_.size() - next_ - 1 < size) return next_of_any_size();
    const PickleOp op{code, next_, std::uint64_t{1} + size, text_.subspan(next_ + 1, size)};
    next_ += op.size;
    return op;
  }
  /// Goes over the next opcode if it is that one. REQUIRES: one without argument.
  bool skip(Opcode code) {
    if (next_ >= text_.size() || text_[next_] != static_cast<std::byte>(code)) return false;
    ++next_;
    return true;
  }
  [[nodiscard]] std::uint64_t position() const { return next_; }
  void go_to(std::uint64_t position) { next_ = position; }
  /// Throws `corrupt` with this place in the message.
  [[noreturn]] void fail(std::uint64_t offset, std::string_view problem) const {
    fail_pickle(source_, offset, problem);
  }

 private:
  PickleOp next_of_any_size();
  [[nodiscard]] ByteView counted(std::size_t count_bytes) const;
  [[nodiscard]] ByteView line(std::uint64_t from) const;

  ByteView text_;
  std::string_view source_;
  std::uint64_t next_;
};

}  // namespace tare
