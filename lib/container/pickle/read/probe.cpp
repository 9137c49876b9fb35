// By Lib/pickle.py and Modules/_pickle.c of CPython 3.8 to 3.14. A call needs something to call, and only what GLOBAL,
// INST and STACK_GLOBAL import can be called: all other values are data. Persistent ids and the codes of copyreg's
// registry have no meaning for pickle.load, which gives up at them.
#include "lib/container/pickle/read/probe.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "lib/base/keyed_hash.hpp"
#include "lib/base/text.hpp"
#include "lib/container/pickle/read/frame_watch.hpp"
#include "lib/container/pickle/read/line_text.hpp"
#include "lib/container/pickle/read/steps.hpp"

namespace tare {
namespace {

using Step = PickleSteps::Step;

/// Opcodes that are followed: a file that is data fails at its first few.
constexpr std::uint64_t most_steps = std::uint64_t{1} << 22;
constexpr std::uint64_t longest_name = 4096;
constexpr std::string_view spaces = " \t\n\v\f\r";

/// What a value is known as: a text of the pickle, by its number in the order of texts; no text; or anything, once
/// something was called.
using ProbedValue = std::uint32_t;
constexpr ProbedValue no_text = 0;
constexpr ProbedValue anything = 1;
constexpr ProbedValue first_text = 2;

/// Could int() or float() take such text? Decided by its first character behind blanks and a sign.
bool starts_like_number(std::string_view text, std::string_view first) {
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && first.find(text.front()) != first.npos;
}

/// Source: torch/_weights_only_unpickler.py, the same from 2.4 to 2.15.
bool weights_only_reads(Opcode code) {
  switch (code) {
    case Opcode::append:
    case Opcode::appends:
    case Opcode::binfloat:
    case Opcode::binget:
    case Opcode::binint:
    case Opcode::binint1:
    case Opcode::binint2:
    case Opcode::binpersid:
    case Opcode::binput:
    case Opcode::binunicode:
    case Opcode::build:
    case Opcode::empty_dict:
    case Opcode::empty_list:
    case Opcode::empty_set:
    case Opcode::empty_tuple:
    case Opcode::global:
    case Opcode::long1:
    case Opcode::long_binget:
    case Opcode::long_binput:
    case Opcode::mark:
    case Opcode::newfalse:
    case Opcode::newobj:
    case Opcode::newtrue:
    case Opcode::none:
    case Opcode::proto:
    case Opcode::reduce:
    case Opcode::setitem:
    case Opcode::setitems:
    case Opcode::short_binstring:
    case Opcode::stop:
    case Opcode::tuple:
    case Opcode::tuple1:
    case Opcode::tuple2:
    case Opcode::tuple3:
      return true;
    default:
      return false;
  }
}

bool makes_or_fills(Opcode code) {
  return code == Opcode::reduce || code == Opcode::obj || code == Opcode::inst || code == Opcode::newobj ||
         code == Opcode::newobj_ex || code == Opcode::build;
}

/// Opcodes whose bytes are a text.
constexpr std::string_view text_opcodes = "UTSVX\x8c\x8d";

bool is_text(Opcode code) {
  return text_opcodes.find(static_cast<char>(code)) != text_opcodes.npos;
}

/// Values by the numbers that a pickle gives them, most of which count from 0.
class Memo {
 public:
  void put(std::uint64_t number, ProbedValue value) {
    if (number >= most_near) {
      far_.insert_or_assign(number, value);
      return;
    }
    if (number >= near_.size()) near_.resize(std::max(number + 1, std::min(2 * near_.size(), most_near)), unset);
    count_ += near_[number] == unset;
    near_[number] = value;
  }
  /// The number that MEMOIZE gives.
  [[nodiscard]] std::uint64_t size() const { return count_ + far_.size(); }
  [[nodiscard]] std::optional<ProbedValue> get(std::uint64_t number) const {
    if (number < near_.size()) return near_[number] == unset ? std::nullopt : std::optional(near_[number]);
    const auto found = far_.find(number);
    return found == far_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  static constexpr ProbedValue unset = ~ProbedValue{0};
  static constexpr std::uint64_t most_near = most_steps;

  std::vector<ProbedValue> near_;
  std::unordered_map<std::uint64_t, ProbedValue> far_;
  std::uint64_t count_ = 0;  ///< of near ones
};

/// Pickles one behind the other, by what is known of their values without building any.
class Prober {
 public:
  Prober(const Source& source, std::uint64_t begin) : source_(source), steps_(source, begin), frames_(source.size()) {}

  PickleProbe run() && {
    for (std::uint64_t left = most_steps;; --left) {
      const std::uint64_t at = steps_.position();
      const auto step = steps_.next();
      if (!step && !steps_.is_too_long()) return finish(ProbeEnd::fails, at);
      if (!step || left == 0) return finish(ProbeEnd::goes_on, at);
      if (!frames_.takes(*step, steps_)) decide(ProbeEnd::differs, at);
      if (is_import(*step)) import(*step);
      if (step->is_cut || !takes_argument(*step) || !takes_values(*step)) return finish(ProbeEnd::fails, at);
      if (step->code == Opcode::stop) begin_next();
    }
  }

 private:
  /// The first reason rules.
  void decide(ProbeEnd end, std::uint64_t at) {
    if (found_.end != ProbeEnd::fails) return;
    found_.end = end;
    found_.offset = at;
  }
  PickleProbe finish(ProbeEnd end, std::uint64_t at) {
    decide(end, at);
    return std::move(found_);
  }

  void begin_next() {
    frames_ = FrameWatch(source_.size());
    stack_.clear();
    marks_.clear();
    texts_.clear();
    memo_ = {};
    is_memo_vague_ = false;
    has_import_ = false;
  }

  // ---- imports

  [[nodiscard]] bool is_import(const Step& step) {
    if (step.code == Opcode::stack_global) {
      return is_deep_enough(2) && top(0) != no_text && top(1) != no_text;
    }
    if (step.code != Opcode::global && step.code != Opcode::inst) return false;
    const std::string lines = steps_.argument(step, longest_name);
    const bool is_whole = lines.size() == step.end - step.begin - 1;
    return !is_whole || step.is_cut || is_utf8(lines);
  }

  void import(const Step& step) {
    has_import_ = true;
    decide(ProbeEnd::imports, step.begin);
    const auto module_and_name = step.code == Opcode::stack_global ? names_on_stack() : names_on_lines(step);
    if (!module_and_name) {
      if (!found_.unnamed) found_.unnamed = step.begin;
      return;
    }
    const auto& [module, name] = *module_and_name;
    if (!known_.insert(module + '\n' + name).second) return;
    constexpr std::uint64_t bytes_a_name = 512;
    source_.budget()->take_memory(bytes_a_name + 3 * (module.size() + name.size()));
    found_.globals.push_back({module, name, step.begin});
  }

  using Names = std::optional<std::pair<std::string, std::string>>;

  /// As Python reads a line: without its last character, which is mostly the newline.
  Names names_on_lines(const Step& step) {
    std::string lines = steps_.argument(step, longest_name);
    if (lines.size() != step.end - step.begin - 1) return std::nullopt;
    if (!lines.empty()) lines.pop_back();
    const std::size_t end = lines.find('\n');
    if (end == lines.npos) return std::pair(lines, std::string());
    return std::pair(lines.substr(0, end), lines.substr(end + 1));
  }

  Names names_on_stack() {
    const auto module = text_of(top(1));
    const auto name = text_of(top(0));
    return module && name ? std::optional(std::pair(*module, *name)) : std::nullopt;
  }

  std::optional<std::string> text_of(ProbedValue value) {
    if (value < first_text) return std::nullopt;
    const Step step = steps_.at(texts_[value - first_text]);
    std::string text = steps_.argument(step, longest_name);
    if (text.size() != step.end - step.begin - 1) return std::nullopt;
    text.erase(0, facts(step.code).size);
    if (facts(step.code).argument == Argument::line) text.pop_back();
    if (step.code == Opcode::unicode_text) return raw_unicode(text);
    if (step.code != Opcode::string_text) return text;
    constexpr std::size_t quotes = 2;
    return text.size() < quotes ? text : unescaped(std::string_view(text).substr(1, text.size() - quotes));
  }

  // ---- arguments

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

  /// The memo's number; nothing for text that Python may well take for one, such as "1_0".
  std::optional<std::uint64_t> number_of(const Step& step) {
    const std::string text = steps_.argument(step, 64);
    std::uint64_t number = 0;
    if (step.code != Opcode::get && step.code != Opcode::put) {
      for (std::size_t i = text.size(); i > 0; --i) number = number << 8 | static_cast<unsigned char>(text[i - 1]);
      return number;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && *end == '\n' ? std::optional(number) : std::nullopt;
  }

  // ---- values

  bool takes_values(const Step& step) {
    found_.calls += has_import_ && makes_or_fills(step.code);
    switch (step.code) {
      case Opcode::stop:
        return is_deep_enough(1);
      case Opcode::mark:
        marks_.push_back(static_cast<std::uint32_t>(stack_.size()));
        return true;
      case Opcode::dup:
        return is_deep_enough(1) && push(top(0));
      case Opcode::pop:
        if (depth() == 0) return to_mark();  // Python pops a mark like a value.
        stack_.pop_back();
        return true;
      // Values are data, and none of them can be called.
      case Opcode::reduce:
      case Opcode::obj:
      case Opcode::newobj:
      case Opcode::newobj_ex:
      // pickle.load knows none of these, unless something that it called told it of them.
      case Opcode::persid:
      case Opcode::binpersid:
      case Opcode::ext1:
      case Opcode::ext2:
      case Opcode::ext4:
      case Opcode::next_buffer:
        return has_import_ && takes_effect(step, anything);
      case Opcode::stack_global:
        return is_import(step) && takes_effect(step, anything);
      case Opcode::global:
      case Opcode::inst:
        return takes_effect(step, anything);
      case Opcode::get:
      case Opcode::binget:
      case Opcode::long_binget:
        return recall(number_of(step));
      case Opcode::put:
      case Opcode::binput:
      case Opcode::long_binput:
        return is_deep_enough(1) && remember(number_of(step));
      case Opcode::memoize:
        return is_deep_enough(1) && remember(memo_.size());
      default:
        return takes_effect(step, value_of(step));
    }
  }

  ProbedValue value_of(const Step& step) {
    if (!is_text(step.code)) return no_text;
    texts_.push_back(step.begin);
    return static_cast<ProbedValue>(texts_.size() - 1) + first_text;
  }

  /// What an opcode adds to, or only looks at, it leaves as it was.
  [[nodiscard]] static bool leaves_target(Opcode code) {
    return code == Opcode::append || code == Opcode::setitem || code == Opcode::appends || code == Opcode::setitems ||
           code == Opcode::additems || code == Opcode::build || code == Opcode::readonly_buffer;
  }

  bool takes_effect(const Step& step, ProbedValue result) {
    const StackEffect effect = facts(step.code).stack;
    if (effect.to_mark && !to_mark()) return false;
    if (!is_deep_enough(effect.takes)) return false;
    if (leaves_target(step.code)) result = top(effect.takes - 1U);
    stack_.resize(stack_.size() - effect.takes);
    return effect.puts == 0 || push(result);
  }

  bool recall(std::optional<std::uint64_t> number) {
    if (!number) return push(anything);
    const auto value = memo_.get(*number);
    return value ? push(*value) : is_memo_vague_ && push(anything);
  }

  bool remember(std::optional<std::uint64_t> number) {
    if (number) memo_.put(*number, top(0));
    is_memo_vague_ = is_memo_vague_ || !number;
    return true;
  }

  bool push(ProbedValue value) {
    stack_.push_back(value);
    return true;
  }
  /// Above the last mark.
  [[nodiscard]] std::uint64_t depth() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }
  [[nodiscard]] bool is_deep_enough(std::uint64_t wanted) const { return depth() >= wanted; }
  [[nodiscard]] ProbedValue top(std::uint64_t below) const { return stack_[stack_.size() - 1 - below]; }

  bool to_mark() {
    if (marks_.empty()) return false;
    stack_.resize(marks_.back());
    marks_.pop_back();
    return true;
  }

  const Source& source_;
  PickleSteps steps_;
  FrameWatch frames_;
  PickleProbe found_;
  std::unordered_set<std::string, KeyedHash> known_;  ///< "module\nname" of what is in it
  std::vector<ProbedValue> stack_;
  std::vector<std::uint32_t> marks_;
  std::vector<std::uint64_t> texts_;  ///< where their opcodes begin
  Memo memo_;
  bool is_memo_vague_ = false;  ///< something was kept under a number that is not known
  bool has_import_ = false;
};

}  // namespace

PickleProbe probe_pickle(const Source& source, std::uint64_t begin) {
  return Prober(source, begin).run();
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
    scan.calls += makes_or_fills(step->code);
    scan.is_read_by_weights_only = scan.is_read_by_weights_only && weights_only_reads(step->code);
    if (step->code != Opcode::stop) continue;
    scan.is_whole = true;
    return scan;
  }
}

}  // namespace tare
