// By Lib/pickle.py and Modules/_pickle.c of CPython 3.8 to 3.14. A call needs something to call, and only what GLOBAL,
// INST and STACK_GLOBAL import can be called: all other values are data. Persistent ids and the codes of copyreg's
// registry have no meaning for pickle.load, which gives up at them.
#include "lib/container/pickle/read/probe.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/container/pickle/read/steps.hpp"

namespace tare {
namespace {

using Step = PickleSteps::Step;

/// Opcodes that are followed: a file that is data fails at its first few.
constexpr std::uint64_t most_steps = std::uint64_t{1} << 22;
constexpr std::uint64_t longest_name = 4096;
constexpr std::string_view spaces = " \t\n\v\f\r";

/// The frames that a pickle opens, and whether its reads keep to them.
class FrameWatch {
 public:
  explicit FrameWatch(std::uint64_t size) : size_(size) {}

  /// Whether all unpicklers take this step alike.
  bool takes(const Step& step, PickleSteps& steps) {
    const bool is_inside = step.begin < end_;
    if (is_inside && step.end > end_) return false;
    if (step.code != Opcode::frame) return true;
    if (is_inside) return false;
    const std::string length = steps.argument(step, sizeof(std::uint64_t));
    const auto bytes = load_le<std::uint64_t>(as_bytes(length).data());
    // A frame beyond the end: the one in C gives up, the one in Python reads what there is.
    is_cut_ = is_cut_ || bytes > size_ - step.end;
    end_ = bytes > size_ - step.end ? size_ : step.end + bytes;
    return true;
  }
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  std::uint64_t size_;
  std::uint64_t end_ = 0;
  bool is_cut_ = false;
};

/// Could int() or float() take such text? Decided by its first character behind blanks and a sign.
bool starts_like_number(std::string_view text, std::string_view first) {
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && first.find(text.front()) != first.npos;
}

/// One pickle, followed by the depth of its stack alone.
class Prober {
 public:
  Prober(PickleSteps& steps, std::uint64_t size, std::uint64_t& budget)
      : steps_(steps), frames_(size), budget_(budget) {}

  /// Nothing where it ends with STOP.
  std::optional<PickleProbe> run() {
    for (;;) {
      const std::uint64_t at = steps_.position();
      const auto step = steps_.next();
      if (!step && !steps_.is_too_long()) return PickleProbe{ProbeEnd::fails, at, {}};
      if (!step || budget_-- == 0) return PickleProbe{ProbeEnd::goes_on, at, {}};
      if (!frames_.takes(*step, steps_)) return PickleProbe{ProbeEnd::differs, at, {}};
      if (imports(*step)) return PickleProbe{ProbeEnd::imports, at, module_};
      if (step->is_cut || !takes_argument(*step) || !takes_values(*step)) return PickleProbe{ProbeEnd::fails, at, {}};
      if (step->code == Opcode::stop) return std::nullopt;
    }
  }

 private:
  bool imports(const Step& step) {
    if (step.code == Opcode::stack_global) return is_deep_enough(2);
    if (step.code != Opcode::global && step.code != Opcode::inst) return false;
    const std::string lines = steps_.argument(step, longest_name);
    module_ = lines.substr(0, lines.find('\n'));
    const bool is_whole = lines.size() == step.end - step.begin - 1;
    return !is_whole || step.is_cut || is_utf8(lines);
  }

  bool takes_argument(const Step& step) {
    constexpr std::string_view digits = "0123456789";
    const auto number = [&](std::string_view first) { return starts_like_number(steps_.argument(step, 64), first); };
    const auto is_natural = [&] {
      constexpr std::size_t count_size = 4;
      return static_cast<unsigned char>(steps_.argument(step, count_size)[count_size - 1]) < 0x80;
    };
    switch (step.code) {
      case Opcode::proto:
        return static_cast<unsigned char>(steps_.argument(step, 1)[0]) <= 5;
      case Opcode::int_text:
      case Opcode::long_text:
      case Opcode::get:
      case Opcode::put:
        return number(digits);
      case Opcode::float_text:
        return number("0123456789.iInN");
      case Opcode::string_text:
        return steps_.argument(step, 1).find_first_of("'\"") == 0;
      case Opcode::long4:
      case Opcode::binstring:
        return is_natural();
      default:
        return true;
    }
  }

  bool takes_values(const Step& step) {
    const StackEffect effect = stack_effects[static_cast<std::uint8_t>(step.code)];
    switch (step.code) {
      case Opcode::stop:
        return is_deep_enough(1);
      case Opcode::mark:
        mark();
        return true;
      case Opcode::pop:
        if (depth_ == 0) return to_mark();  // Python pops a mark like a value.
        break;
      // Values are data, and none of them can be called.
      case Opcode::reduce:
      case Opcode::obj:
      case Opcode::newobj:
      case Opcode::newobj_ex:
      // pickle.load knows none of these.
      case Opcode::persid:
      case Opcode::binpersid:
      case Opcode::ext1:
      case Opcode::ext2:
      case Opcode::ext4:
      case Opcode::next_buffer:
        return false;
      case Opcode::get:
      case Opcode::binget:
      case Opcode::long_binget:
        if (!has_memo_) return false;
        break;
      case Opcode::put:
      case Opcode::binput:
      case Opcode::long_binput:
      case Opcode::memoize:
        has_memo_ = true;
        break;
      default:
        break;
    }
    if (effect.to_mark && !to_mark()) return false;
    if (!is_deep_enough(effect.takes)) return false;
    depth_ = depth_ - std::min<std::uint64_t>(depth_, effect.takes) + effect.puts;
    return true;
  }

  [[nodiscard]] bool is_deep_enough(std::uint64_t wanted) const { return is_beyond_marks_ || depth_ >= wanted; }

  void mark() {
    if (mark_count_ == marks_.size()) {
      is_beyond_marks_ = true;
    } else {
      marks_[mark_count_++] = depth_;
    }
    depth_ = 0;
  }

  bool to_mark() {
    if (mark_count_ == 0) return is_beyond_marks_;
    depth_ = marks_[--mark_count_];
    return true;
  }

  PickleSteps& steps_;
  FrameWatch frames_;
  std::uint64_t& budget_;
  std::string module_;
  std::uint64_t depth_ = 0;  ///< values above the last mark
  std::array<std::uint64_t, 256> marks_{};
  std::size_t mark_count_ = 0;
  bool is_beyond_marks_ = false;  ///< more marks than are kept: from then on every value counts as there
  bool has_memo_ = false;
};

bool calls(Opcode code) {
  return code == Opcode::reduce || code == Opcode::obj || code == Opcode::inst || code == Opcode::newobj ||
         code == Opcode::newobj_ex || code == Opcode::build;
}

}  // namespace

PickleProbe probe_pickle(const Source& source) {
  std::uint64_t budget = most_steps;
  PickleSteps steps(source, 0);
  for (;;) {
    if (auto found = Prober(steps, source.size(), budget).run()) return *found;
  }
}

PickleScan scan_pickle(const Source& source, std::uint64_t begin) {
  PickleScan scan;
  PickleSteps steps(source, begin);
  FrameWatch frames(source.size());
  for (;;) {
    const auto step = steps.next();
    scan.end = steps.position();
    if (!step) return scan;
    scan.has_plain_frames = scan.has_plain_frames && frames.takes(*step, steps) && !frames.is_cut() && !step->is_cut;
    scan.calls += calls(step->code);
    if (step->code != Opcode::stop) continue;
    scan.is_whole = true;
    return scan;
  }
}

}  // namespace tare
