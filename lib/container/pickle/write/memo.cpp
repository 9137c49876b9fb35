// What is cut may have been stored in the memo and be fetched behind the cut. Two facts decide what becomes of it.
//
// A slot with a name of its own (PUT) is free to be filled elsewhere: an atom (a text, a class's name) has no parts and
// is nowhere changed, so that writing it where it is fetched first gives every reader the same value. Anything else may
// be filled or mutated between its making and its fetching, so that only its own place is right: such a cut is refused.
//
// A slot that MEMOIZE fills has the number of values that were stored before it. Taking one away would shift all later
// ones; so in the place of a cut stand opcodes that store as many values in as many slots (what is fetched later is
// made and dropped, the rest is None) and leave the stack as they found it. No number behind the cut changes, and
// nothing that is fetched is another value than before.
#include "lib/container/pickle/write/memo.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "lib/base/error.hpp"
#include "lib/container/pickle/read/opcode.hpp"
#include "lib/container/pickle/read/stack.hpp"

namespace tare {
namespace {

bool is_atom(Opcode code) {
  return code == Opcode::binunicode || code == Opcode::short_binunicode || code == Opcode::global;
}

bool is_put(Opcode code) {
  return code == Opcode::put || code == Opcode::binput || code == Opcode::long_binput;
}

bool is_get(Opcode code) {
  return code == Opcode::get || code == Opcode::binget || code == Opcode::long_binget;
}

/// Tells, opcode by opcode, in which cut one stands.
class Cuts {
 public:
  explicit Cuts(std::span<const Span> cuts) : cuts_(cuts) {}

  /// REQUIRES: offsets in ascending order.
  bool holds(std::uint64_t offset) {
    while (number_ < cuts_.size() && cuts_[number_].end() <= offset) ++number_;
    return number_ < cuts_.size() && cuts_[number_].offset <= offset;
  }

 private:
  std::span<const Span> cuts_;
  std::size_t number_ = 0;
};

/// Slots with names: their texts are carried out of what is cut.
class NamedMemo {
 public:
  NamedMemo(ByteView text, std::span<const Span> cuts) : text_(text), cuts_(cuts) {}

  void follow(const PickleOp& op) {
    const bool is_cut = cuts_.holds(op.begin);
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

  std::vector<Replacement> take() && { return std::move(kept_); }

 private:
  void keep(const PickleOp& op) {
    const auto lost = lost_.find(memo_index(op));
    if (lost == lost_.end()) return;
    if (lost->second.size == 0) refuse_pickle("another place of the file shares a part of the value");
    const ByteView written = text_.subspan(lost->second.offset, lost->second.size);
    kept_.push_back({op.span(), Bytes(written.begin(), written.end())});
    lost_.erase(lost);
  }

  ByteView text_;
  Cuts cuts_;
  std::map<std::uint64_t, Span> lost_;  ///< by slot: the opcodes that fill it, none where they are no single value
  std::vector<Replacement> kept_;
  PickleOp last_;
};

/// Slots that are numbered by how many there are: none may go.
class CountedMemo final : public PickleStack {
 public:
  CountedMemo(ByteView text, std::span<const Span> cuts) : text_(text), cuts_(cuts) {}

  void read(const PickleOp& op) {
    const bool is_cut = cuts_.holds(op.begin);
    if (is_put(op.code)) refuse_pickle("the pickle numbers its memo by counting and by names");
    if (op.code == Opcode::dup && is_cut) refuse_pickle("the value is written in an unusual way");
    if (op.code == Opcode::memoize) {
      if (is_cut) store(op);
      ++slots_;
    } else if (is_get(op.code) && is_cut) {
      fetched_.push_back({op.begin, memo_index(op)});
    } else if (is_get(op.code)) {
      want(memo_index(op));
    }
    follow(op);
  }

  /// The opcodes that are left of each cut.
  std::vector<Bytes> left_of(std::span<const Span> cuts) {
    const std::vector<Span> definitions = wanted_definitions();
    std::vector<Bytes> left;
    auto definition = definitions.cbegin();
    auto stored = stored_.cbegin();
    for (const Span& cut : cuts) {
      Bytes opcodes;
      for (; definition != definitions.cend() && definition->offset < cut.end(); ++definition) {
        stored = fill_up_to(stored, definition->offset, opcodes);
        copy(*definition, opcodes);
        while (stored != stored_.end() && stored->at < definition->end()) ++stored;
      }
      stored = fill_up_to(stored, cut.end(), opcodes);
      left.push_back(std::move(opcodes));
    }
    return left;
  }

 private:
  /// A value in a cut that is stored in the memo.
  struct Stored {
    std::uint64_t slot = 0;
    std::uint64_t at = 0;  ///< where MEMOIZE stands
    Span value;
    bool is_wanted = false;
  };
  struct Fetched {
    std::uint64_t at = 0, slot = 0;
  };

  void store(const PickleOp& op) {
    if (height() == 0) refuse_pickle("a value is missing");
    open_[height() - 1].push_back(stored_.size());
    stored_.push_back({slots_, op.begin, {}});
  }

  void finish_value(std::size_t depth, Span value) override {
    const auto open = open_.find(depth);
    if (open == open_.end()) return;
    for (const std::size_t number : open->second) stored_[number].value = value;
    open_.erase(open);
  }

  void want(std::uint64_t slot) {
    const auto found =
        std::lower_bound(stored_.begin(), stored_.end(), slot,
                         [](const Stored& stored, std::uint64_t wanted) { return stored.slot < wanted; });
    if (found == stored_.end() || found->slot != slot || found->is_wanted) return;
    found->is_wanted = true;
    wanted_.push_back(static_cast<std::size_t>(found - stored_.begin()));
  }

  /// What writes the values that are fetched outside the cuts, and those that these fetch, each once.
  std::vector<Span> wanted_definitions() {
    std::vector<Span> spans;
    while (!wanted_.empty()) {
      const Span value = stored_[wanted_.back()].value;
      wanted_.pop_back();
      spans.push_back(value);
      auto fetched = std::lower_bound(fetched_.begin(), fetched_.end(), value.offset,
                                      [](const Fetched& f, std::uint64_t offset) { return f.at < offset; });
      for (; fetched != fetched_.end() && fetched->at < value.end(); ++fetched) want(fetched->slot);
    }
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
      return a.offset != b.offset ? a.offset < b.offset : a.size > b.size;  // a whole before its parts
    });
    std::vector<Span> outermost;
    for (const Span& span : spans) {
      if (outermost.empty() || outermost.back().end() <= span.offset) outermost.push_back(span);
    }
    return outermost;
  }

  /// None in every slot that is filled before `end`.
  std::vector<Stored>::const_iterator fill_up_to(std::vector<Stored>::const_iterator stored, std::uint64_t end,
                                                 Bytes& to) const {
    const auto behind = std::find_if(stored, stored_.end(), [&](const Stored& s) { return s.at >= end; });
    if (behind == stored) return stored;
    to.push_back(static_cast<std::byte>(Opcode::none));
    to.resize(to.size() + static_cast<std::size_t>(behind - stored), static_cast<std::byte>(Opcode::memoize));
    to.push_back(static_cast<std::byte>(Opcode::pop));
    return behind;
  }

  /// The value is made, stored and dropped.
  void copy(const Span& value, Bytes& to) const {
    PickleScanner scanner(text_, "", value.offset);
    while (scanner.position() < value.end()) {
      const PickleOp op = scanner.next();
      if (op.code == Opcode::frame) continue;
      const ByteView written = text_.subspan(op.begin, op.size);
      std::copy(written.begin(), written.end(), std::back_inserter(to));
    }
    to.push_back(static_cast<std::byte>(Opcode::pop));
  }

  ByteView text_;
  Cuts cuts_;
  std::uint64_t slots_ = 0;
  std::vector<Stored> stored_;                            ///< in the cuts, by slot and by place
  std::vector<Fetched> fetched_;                          ///< in the cuts, by place
  std::vector<std::size_t> wanted_;                       ///< of stored_: to be looked at
  std::map<std::size_t, std::vector<std::size_t>> open_;  ///< of stored_, by depth: values that may still grow
};

bool counts_slots(ByteView text, std::uint64_t begin, std::uint64_t end) {
  PickleScanner scanner(text, "", begin);
  while (scanner.position() < end) {
    if (scanner.next().code == Opcode::memoize) return true;
  }
  return false;
}

}  // namespace

KeptMemo kept_memo(ByteView text, std::uint64_t begin, std::uint64_t end, std::span<const Span> cuts) {
  if (cuts.empty()) return {};
  PickleScanner scanner(text, "", begin);
  if (counts_slots(text, begin, end)) {
    CountedMemo memo(text, cuts);
    while (scanner.position() < end) memo.read(scanner.next());
    return {memo.left_of(cuts), {}};
  }
  NamedMemo memo(text, cuts);
  while (scanner.position() < end) memo.follow(scanner.next());
  return {std::vector<Bytes>(cuts.size()), std::move(memo).take()};
}

}  // namespace tare
