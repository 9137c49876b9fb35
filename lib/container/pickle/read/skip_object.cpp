#include "lib/container/pickle/read/skip_object.hpp"

#include <array>

#include "lib/container/pickle/read/opcode.hpp"

namespace tare {
namespace {

/// What an opcode does beside its effect on the stack.
enum class Act : std::uint8_t { leave, nothing, counted, fetch, memoize, mark, build };

/// What is on top of the stack then.
enum class Top : std::uint8_t {
  kept,    ///< what was
  plain,   ///< nothing that can be filled
  made,    ///< something new that can be
  filled,  ///< what was filled: it has to be new, because others see what a fetched one is given
};

struct OpcodeStep {
  Act act = Act::leave;
  Top top = Top::kept;
  std::uint8_t argument = 0;  ///< bytes; of what is counted, those of the count
  StackEffect stack;
};

struct StepRow {
  std::string_view opcodes;
  Act act;
  Top top;
};

constexpr StepRow step_rows[] = {
    {"N\x88\x89)t\x85\x86\x87KMJG", Act::nothing, Top::plain},
    {"\x8c\x8aX", Act::counted, Top::plain},
    {"hj", Act::fetch, Top::plain},
    {"\x94", Act::memoize, Top::kept},
    {"\x95", Act::nothing, Top::kept},
    {"(", Act::mark, Top::kept},
    {"}]\x8fR\x81", Act::nothing, Top::made},
    {"asue\x90", Act::nothing, Top::filled},
    {"b", Act::build, Top::filled},
};

constexpr auto steps = [] {
  std::array<OpcodeStep, 256> table{};
  for (const StepRow& row : step_rows) {
    for (const char opcode : row.opcodes) {
      const auto code = static_cast<unsigned char>(opcode);
      table[code] = {row.act, row.top, opcodes[code].size, opcodes[code].stack};
    }
  }
  return table;
}();

class ObjectSkipper {
 public:
  ObjectSkipper(ByteView text, std::uint64_t at, std::uint64_t memo_size)
      : text_(text), at_(at), memo_size_(memo_size) {}

  std::optional<SkippedObject> object() {
    if (!sees(at_, Opcode::empty_tuple) || !sees(at_ + 1, Opcode::newobj)) return std::nullopt;
    while (at_ < text_.size()) {
      const OpcodeStep step = steps[std::to_integer<std::uint8_t>(text_[at_])];
      if (step.act != Act::nothing && !act(step)) return std::nullopt;
      if (step.stack.to_mark && !pop_to_mark()) return std::nullopt;
      if (depth_ < fence_ + step.stack.takes) return std::nullopt;
      depth_ = depth_ - step.stack.takes + step.stack.puts;
      if (step.top != Top::kept && !cover(step.top)) return std::nullopt;
      at_ += 1 + step.argument;
      if (step.act == Act::build && depth_ == 1 && at_ <= text_.size()) return SkippedObject{at_, memoized_};
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t most_marks = 8;
  static constexpr std::size_t most_depth = 64;

  [[nodiscard]] bool sees(std::uint64_t at, Opcode code) const {
    return at < text_.size() && text_[at] == static_cast<std::byte>(code);
  }

  bool act(const OpcodeStep& step) {
    switch (step.act) {
      case Act::memoize:
        ++memoized_;
        return true;
      case Act::fetch:
        return number(step.argument) < memo_size_ + memoized_;
      case Act::counted:
        at_ += number(step.argument);  // of 32 bits at most; whether it passes the end is seen before the next opcode
        return true;
      case Act::mark:
        if (mark_count_ == most_marks) return false;
        marks_[mark_count_++] = fence_;
        fence_ = depth_;
        return true;
      case Act::nothing:
      case Act::build:
        return true;
      case Act::leave:
        return false;
    }
    return false;
  }

  bool pop_to_mark() {
    if (mark_count_ == 0) return false;
    depth_ = fence_;
    fence_ = marks_[--mark_count_];
    return true;
  }

  bool cover(Top top) {
    if (depth_ > most_depth) return false;
    const std::uint64_t bit = std::uint64_t{1} << (depth_ - 1);
    if (top == Top::filled) return (made_ & bit) != 0;
    made_ = top == Top::made ? made_ | bit : made_ & ~bit;
    return true;
  }

  /// The argument; something that is no slot where it passes the end.
  [[nodiscard]] std::uint64_t number(std::size_t size) const {
    if (text_.size() - at_ <= size) return ~std::uint32_t{0};
    return size == 1 ? std::to_integer<std::uint64_t>(text_[at_ + 1]) : load_le<std::uint32_t>(text_.data() + at_ + 1);
  }

  ByteView text_;
  std::uint64_t at_;
  std::uint64_t memo_size_;
  std::uint64_t memoized_ = 0;
  std::size_t depth_ = 1;                        ///< of the stack; at first there is the class
  std::uint64_t made_ = 0;                       ///< a bit for each value on the stack: it is new, and can be filled
  std::size_t fence_ = 0;                        ///< how deep it was at the last mark
  std::array<std::size_t, most_marks> marks_{};  ///< the fences before that
  std::size_t mark_count_ = 0;
};

}  // namespace

std::optional<SkippedObject> skip_object(ByteView text, std::uint64_t begin, std::uint64_t memo_size) {
  return ObjectSkipper(text, begin, memo_size).object();
}

}  // namespace tare
