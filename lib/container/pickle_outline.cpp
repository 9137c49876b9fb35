#include "lib/container/pickle_outline.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/container/pickle_opcode.hpp"

namespace tare {
namespace {

[[noreturn]] void refuse(const char* problem) {
  throw Error(Status::refused, problem, "load the checkpoint with its framework and save it anew");
}

/// How many values an opcode takes from the stack and puts there; nothing for those that look for a mark.
struct Effect {
  std::size_t takes = 0, puts = 0;
};

std::optional<Effect> effect_of(Opcode code) {
  switch (code) {
    case Opcode::tuple1:
    case Opcode::binpersid:
      return Effect{1, 1};
    case Opcode::tuple2:
    case Opcode::reduce:
    case Opcode::newobj:
    case Opcode::stack_global:
    case Opcode::build:
    case Opcode::append:
      return Effect{2, 1};
    case Opcode::tuple3:
    case Opcode::newobj_ex:
    case Opcode::setitem:
      return Effect{3, 1};
    case Opcode::pop:
      return Effect{1, 0};
    case Opcode::mark:
    case Opcode::tuple:
    case Opcode::list:
    case Opcode::dict:
    case Opcode::frozenset:
    case Opcode::inst:
    case Opcode::obj:
    case Opcode::pop_mark:
    case Opcode::appends:
    case Opcode::additems:
    case Opcode::setitems:
      return std::nullopt;
    case Opcode::proto:
    case Opcode::frame:
    case Opcode::stop:
    case Opcode::put:
    case Opcode::binput:
    case Opcode::long_binput:
    case Opcode::memoize:
      return Effect{0, 0};
    case Opcode::dup:
    default:
      return Effect{0, 1};
  }
}

/// Follows the stack of values by where each begins; every value ends where the next opcode of its level begins.
class Outline {
 public:
  Outline(ByteView text, std::uint64_t begin, std::span<const std::uint64_t> wanted)
      : scanner_(text, "", begin), wanted_(wanted), found_(wanted.size()) {}

  std::vector<WrittenItem> read(std::uint64_t end) && {
    while (scanner_.position() < end) follow(scanner_.next());
    std::vector<WrittenItem> items;
    for (const auto& item : found_) {
      if (!item) refuse("the value stands in no map and in no list");
      items.push_back(*item);
    }
    return items;
  }

 private:
  void follow(const PickleOp& op) {
    if (const auto effect = effect_of(op.code)) return apply(op, *effect);
    if (op.code == Opcode::mark) {
      marks_.emplace_back(stack_.size(), op.begin);
      return;
    }
    if (marks_.empty()) refuse("a mark is missing");
    const auto [height, mark] = marks_.back();
    marks_.pop_back();
    if (op.code == Opcode::setitems || op.code == Opcode::dict) take_pairs(height, op);
    if (op.code == Opcode::appends || op.code == Opcode::list || op.code == Opcode::tuple) take_values(height, op);
    stack_.resize(height);
    const bool fills = op.code == Opcode::setitems || op.code == Opcode::appends || op.code == Opcode::additems;
    if (!fills && op.code != Opcode::pop_mark) stack_.push_back(mark);
  }

  void apply(const PickleOp& op, Effect effect) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back().first;
    if (op.code == Opcode::pop && stack_.size() == floor && !marks_.empty()) {
      marks_.pop_back();  // Python pops a mark like a value
      return;
    }
    if (stack_.size() < floor + effect.takes) refuse("a value is missing");
    const std::size_t top = stack_.size();
    if (op.code == Opcode::append) settle({stack_[top - 1], op.begin - stack_[top - 1]}, {});
    if (op.code == Opcode::setitem) {
      settle({stack_[top - 1], op.begin - stack_[top - 1]}, {stack_[top - 2], op.end() - stack_[top - 2]});
    }
    const std::uint64_t first = effect.takes > 0 ? stack_[top - effect.takes] : op.begin;
    stack_.resize(top - effect.takes);
    if (effect.puts > 0) stack_.push_back(first);
  }

  [[nodiscard]] std::uint64_t end_of(std::size_t value, const PickleOp& op) const {
    return value + 1 < stack_.size() ? stack_[value + 1] : op.begin;
  }

  void take_pairs(std::size_t height, const PickleOp& op) {
    for (std::size_t key = height; key + 1 < stack_.size(); key += 2) {
      const std::uint64_t from = stack_[key + 1];
      const std::uint64_t end = end_of(key + 1, op);
      settle({from, end - from}, {stack_[key], end - stack_[key]});
    }
  }

  void take_values(std::size_t height, const PickleOp& op) {
    for (std::size_t value = height; value < stack_.size(); ++value) {
      const bool is_item = op.code != Opcode::tuple;
      if (is_item) settle({stack_[value], end_of(value, op) - stack_[value]}, {});
    }
  }

  /// Whoever is wanted in that value and has no item yet: inner items come first.
  void settle(Span value, Span item) {
    auto at = std::lower_bound(wanted_.begin(), wanted_.end(), value.offset);
    for (; at != wanted_.end() && *at < value.end(); ++at) {
      auto& found = found_[static_cast<std::size_t>(at - wanted_.begin())];
      if (!found) found = WrittenItem{value, item};
    }
  }

  PickleScanner scanner_;
  std::span<const std::uint64_t> wanted_;
  std::vector<std::optional<WrittenItem>> found_;
  std::vector<std::uint64_t> stack_;                          ///< where each value begins
  std::vector<std::pair<std::size_t, std::uint64_t>> marks_;  ///< how high the stack was, and where the mark stands
};

bool is_atom(Opcode code) {
  return code == Opcode::binunicode || code == Opcode::short_binunicode || code == Opcode::global;
}

bool is_put(Opcode code) {
  return code == Opcode::put || code == Opcode::binput || code == Opcode::long_binput;
}

bool is_get(Opcode code) {
  return code == Opcode::get || code == Opcode::binget || code == Opcode::long_binget;
}

/// Carries what is stored in the memo out of what is cut.
class MemoKeeper {
 public:
  MemoKeeper(ByteView text, std::span<const Span> cuts) : text_(text), cuts_(cuts) {}

  void follow(const PickleOp& op) {
    while (!cuts_.empty() && cuts_.front().end() <= op.begin) cuts_ = cuts_.subspan(1);
    const bool is_cut = !cuts_.empty() && cuts_.front().offset <= op.begin;
    if (is_cut && op.code == Opcode::frame) refuse("a frame begins inside the value");
    // MEMOIZE numbers its slot by how many there are: none may go.
    if (op.code == Opcode::memoize) counts_slots_ = true;
    if (is_put(op.code)) {
      if (is_cut) {
        lost_[memo_index(op)] = is_atom(last_.code) ? Span{last_.begin, op.end() - last_.begin} : Span{};
      } else {
        lost_.erase(memo_index(op));
      }
    } else if (is_get(op.code) && !is_cut) {
      keep(op);
    }
    last_ = op;
  }

  std::vector<Replacement> take() && {
    if (counts_slots_) refuse("the pickle numbers its memo by counting, and values of it would go");
    return std::move(kept_);
  }

 private:
  void keep(const PickleOp& op) {
    const auto lost = lost_.find(memo_index(op));
    if (lost == lost_.end()) return;
    if (lost->second.size == 0) refuse("another place of the file shares a part of the value");
    const ByteView written = text_.subspan(lost->second.offset, lost->second.size);
    kept_.push_back({op.span(), Bytes(written.begin(), written.end())});
    lost_.erase(lost);
  }

  ByteView text_;
  std::span<const Span> cuts_;
  std::map<std::uint64_t, Span> lost_;  ///< by slot: the opcodes that fill it, none where they are no single value
  std::vector<Replacement> kept_;
  PickleOp last_;
  bool counts_slots_ = false;
};

}  // namespace

std::vector<WrittenItem> written_items(ByteView text, std::uint64_t begin, std::uint64_t end,
                                       std::span<const std::uint64_t> wanted) {
  return Outline(text, begin, wanted).read(end);
}

std::vector<Replacement> kept_memo(ByteView text, std::uint64_t begin, std::uint64_t end, std::span<const Span> cuts) {
  if (cuts.empty()) return {};
  MemoKeeper keeper(text, cuts);
  PickleScanner scanner(text, "", begin);
  while (scanner.position() < end) keeper.follow(scanner.next());
  return std::move(keeper).take();
}

}  // namespace tare
