// Trees of formats that write plain values one after the other (msgpack, JSON): a tree that knows where each value
// stands, in a file of any size.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// Takes values in the order in which the file has them and nests them. A key that is there twice keeps its last value,
/// as Python's readers have it, and is told in `findings`.
class PlainTree {
 public:
  /// `source` names the file in messages.
  PlainTree(std::string source, std::shared_ptr<Budget> budget)
      : source_(std::move(source)), tree_(std::move(budget)) {}

  void none(Span place) { add(Node{}, place); }
  void boolean(bool value, Span place);
  void integer(std::int64_t value, Span place);
  /// Beyond int64.
  void big_integer(std::string_view decimal, Span place);
  void floating(double value, Span place);
  void text(Kind kind, std::string_view text, Span place);
  /// A node that somebody else made in tree().
  void node(NodeId id, Span place);
  /// Throws `refused` beyond limits::max_depth. In a map keys and values take turns.
  void open(Kind kind, Span place);
  /// The collection that was opened last is whole; the node of it.
  NodeId close();
  /// The same where its place is known to the end.
  NodeId close(std::uint64_t end);

  [[nodiscard]] Tree& tree() { return tree_; }
  [[nodiscard]] const Tree& tree() const { return tree_; }
  /// Where a value stands that was added here.
  [[nodiscard]] Span place(NodeId id) const;
  /// Whether the innermost open collection is a map that waits for a key.
  [[nodiscard]] bool wants_key() const;
  [[nodiscard]] std::size_t depth() const { return open_.size(); }

  std::vector<Finding> findings;

 private:
  struct Open {
    NodeId node;
    std::vector<NodeId> items;
  };
  void add(const Node& node, Span place) { this->node(tree_.add(node), place); }
  void put_place(NodeId id, Span place);
  [[nodiscard]] bool has_few_distinct_keys(const Open& map) const;
  void drop_doubles(Open& map);

  std::string source_;
  Tree tree_;
  std::unordered_map<NodeId, Span> far_places_;  ///< those that a node itself cannot tell
  std::size_t doubles_ = 0;                      ///< keys that were there before
  std::vector<Open> open_;
};

}  // namespace tare
