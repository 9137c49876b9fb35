#include "lib/container/pickle/read/stack.hpp"

#include "lib/base/error.hpp"

namespace tare {
namespace {

/// Those that add to the value below what they take.
bool fills(Opcode code) {
  switch (code) {
    case Opcode::build:
    case Opcode::append:
    case Opcode::appends:
    case Opcode::setitem:
    case Opcode::setitems:
    case Opcode::additems:
      return true;
    default:
      return false;
  }
}

/// Those that make something of the value below what they take.
bool calls(Opcode code) {
  return code == Opcode::reduce || code == Opcode::newobj || code == Opcode::newobj_ex || code == Opcode::binpersid;
}

Span joined(std::uint64_t begin, const PickleOp& op) {
  return {begin, op.end() - begin};
}

}  // namespace

[[noreturn]] void refuse_pickle(const char* problem) {
  throw Error(Status::refused, problem, "load the checkpoint with its framework and save it anew");
}

void PickleStack::follow(const PickleOp& op) {
  const StackEffect effect = facts(op.code).stack;
  if (effect.to_mark) return take_to_mark(op);
  if (op.code != Opcode::mark) return take(op, effect.takes, effect.puts);
  marks_.emplace_back(values_.size(), op.begin);
}

void PickleStack::take(const PickleOp& op, std::size_t takes, std::size_t puts) {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back().first;
  if (op.code == Opcode::pop && values_.size() == floor && !marks_.empty()) {
    marks_.pop_back();  // Python pops a mark like a value
    return;
  }
  if (values_.size() < floor + takes) refuse_pickle("a value is missing");
  if (memoizes(op.code)) return extend(op);
  const std::size_t top = values_.size(), first = top - takes;
  if (op.code == Opcode::append) take_item(top - 1, values_.back(), {});
  if (op.code == Opcode::setitem) take_item(top - 1, values_.back(), joined(values_[top - 2].offset, op));
  if (fills(op.code)) {
    finish_from(first + 1);
    return extend(op);
  }
  const std::uint64_t begin = takes > 0 ? values_[first].offset : op.begin;
  if (calls(op.code)) {
    finish_from(first + 1);
    call_value(first, values_[first]);
    values_.pop_back();
  }
  finish_from(first);
  if (puts > 0) values_.push_back(joined(begin, op));
}

void PickleStack::take_to_mark(const PickleOp& op) {
  if (marks_.empty()) refuse_pickle("a mark is missing");
  const auto [height, mark] = marks_.back();
  marks_.pop_back();
  if (op.code == Opcode::setitems || op.code == Opcode::dict) take_pairs(height);
  if (op.code == Opcode::appends || op.code == Opcode::list) {
    for (std::size_t depth = height; depth < values_.size(); ++depth) take_item(depth, values_[depth], {});
  }
  finish_from(height);
  if (fills(op.code)) return extend(op);
  if (op.code != Opcode::pop_mark) values_.push_back(joined(mark, op));
}

void PickleStack::take_pairs(std::size_t height) {
  for (std::size_t key = height; key + 1 < values_.size(); key += 2) {
    const std::uint64_t begin = values_[key].offset;
    take_item(key + 1, values_[key + 1], {begin, values_[key + 1].end() - begin});
  }
}

void PickleStack::finish_from(std::size_t depth) {
  for (std::size_t value = depth; value < values_.size(); ++value) finish_value(value, values_[value]);
  values_.resize(depth);
}

void PickleStack::extend(const PickleOp& op) {
  if (values_.empty()) refuse_pickle("a value is missing");
  values_.back().size = op.end() - values_.back().offset;
}

}  // namespace tare
