// The stack of values that a pickle builds, by where in the text each of them is written.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/container/pickle/read/opcode.hpp"

namespace tare {

/// Throws `refused`: a pickle that is written as no framework writes it.
[[noreturn]] void refuse_pickle(const char* problem);

/// Follows a pickle that read_pickle accepts. Throws `refused` where opcodes do not fit together.
class PickleStack {
 public:
  virtual ~PickleStack() = default;
  void follow(const PickleOp& op);

 protected:
  /// A value became an item of a map or a list. `depth`: how many values lay below it. `item`: with its key, and with
  /// the opcode that took them if that took nothing else; empty in a list.
  virtual void take_item(std::size_t /*depth*/, Span /*value*/, Span /*item*/) {}
  /// Nothing is added to a value any more: another one has it, or nobody.
  virtual void finish_value(std::size_t /*depth*/, Span /*value*/) {}
  /// The same where the value is called, and what it makes takes its place.
  virtual void call_value(std::size_t depth, Span value) { finish_value(depth, value); }

  [[nodiscard]] std::size_t height() const { return values_.size(); }

 private:
  void take(const PickleOp& op, std::size_t takes, std::size_t puts);
  void take_to_mark(const PickleOp& op);
  void take_pairs(std::size_t height);
  /// Of all values from `depth` on.
  void finish_from(std::size_t depth);
  /// The topmost value is written up to the end of `op`.
  void extend(const PickleOp& op);

  std::vector<Span> values_;                                  ///< the opcodes from a value's first to its last
  std::vector<std::pair<std::size_t, std::uint64_t>> marks_;  ///< how high the stack was, and where the mark stands
};

}  // namespace tare
