// What several places of a tree share: changed in one of them, it would change in all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/container/node_change.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// What is held by one slot of the tree, and what by several. A tree has millions of nodes: of each, a bit tells that
/// it is held, and one that it is again.
class Slots {
 public:
  explicit Slots(const Tree& tree)
      : tree_(tree),
        held_(tree.size()),
        held_again_(tree.size()),
        read_(tree.bytes().size() + 1),
        read_again_(tree.bytes().size() + 1) {}

  /// Whether it is held for the first time.
  bool hold(NodeId node) {
    const std::uint64_t begin = std::min<std::uint64_t>(tree_.span(node).offset, read_.size() - 1);
    mark(read_, read_again_, begin);
    return mark(held_, held_again_, node);
  }

  [[nodiscard]] bool holds_again(NodeId node) const { return held_again_[node]; }
  /// The same of all nodes that were read from one opcode.
  [[nodiscard]] bool holds_again(Span place) const {
    return place.offset < read_again_.size() && read_again_[place.offset];
  }

 private:
  /// Whether it was not marked before.
  static bool mark(std::vector<bool>& once, std::vector<bool>& again, std::uint64_t index) {
    if (once[index]) again[index] = true;
    const bool is_new = !once[index];
    once[index] = true;
    return is_new;
  }

  const Tree& tree_;
  std::vector<bool> held_, held_again_;  ///< by node
  std::vector<bool> read_, read_again_;  ///< by where the opcode begins
};

/// Refuses to change what more than one slot holds.
class Holders {
 public:
  explicit Holders(const Tree& tree);

  /// Throws `refused`, too, for any other node that was read from the opcode at `place`.
  void require_one_at(Span place, const NodeChange& change) const;
  /// Throws `refused`.
  void require_one(NodeId node, const NodeChange& change) const;

 private:
  template <typename What>
  void require(What what, const NodeChange& change) const;

  const Tree& tree_;
  Slots all_;                             ///< also of what nothing leads to
  mutable std::optional<Slots> reached_;  ///< made where that may have been one slot too many
};

}  // namespace tare
