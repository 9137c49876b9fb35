// A value read from a file, whole: the same for every format. Dialects look at nothing else.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/tree/integer.hpp"
#include "lib/tree/node.hpp"
#include "lib/tree/tensor.hpp"
#include "lib/tree/value.hpp"

namespace tare {

/// What a container installs so that a tree can hand out what lies outside its nodes. Called only where somebody asks.
class TensorReader {
 public:
  virtual ~TensorReader() = default;
  /// REQUIRES: kind tensor or array. Throws `corrupt` where its description makes no sense.
  [[nodiscard]] virtual Tensor describe(NodeId node) const = 0;
  /// All elements in row-major order, little-endian. Throws `corrupt` where they are not in the file.
  [[nodiscard]] virtual Bytes elements(NodeId node) const = 0;
};

/// `module name` as the file spells it.
struct QualifiedName {
  std::string_view module;
  std::string_view name;
};

class Tree {
 public:
  NodeId root = nowhere;

  // ---- reading
  [[nodiscard]] const Node& operator[](NodeId id) const { return nodes_[id]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] Kind kind(NodeId id) const { return nodes_[id].kind; }
  [[nodiscard]] Span span(NodeId id) const { return {nodes_[id].begin, nodes_[id].size}; }
  [[nodiscard]] Integer integer(NodeId id) const;  ///< REQUIRES: kind integer
  [[nodiscard]] std::string_view text(NodeId id) const;  ///< REQUIRES: kind string or bytes; raw bytes
  /// list, tuple, set: the items; map: key, value, key, value ... Valid until the tree changes.
  [[nodiscard]] std::span<const NodeId> items(NodeId id) const;
  /// The value under a string key of a map; nowhere where there is none, or `map` is no map.
  [[nodiscard]] NodeId find(NodeId map, std::string_view key) const;
  /// REQUIRES: kind name, or opaque (then its class or callee; empty where that is itself no plain name)
  [[nodiscard]] QualifiedName qualified_name(NodeId id) const;
  /// REQUIRES: kind opaque. Its attributes (a map) or whatever state it was given; nowhere where it has none.
  [[nodiscard]] NodeId state(NodeId opaque) const;
  /// REQUIRES: kind opaque. The arguments of the call (a tuple as a rule); nowhere where it has none.
  [[nodiscard]] NodeId arguments(NodeId opaque) const;
  /// A string for a key of any kind, as paths and JSON show it: text as it is, ints and floats in decimal, True, None.
  [[nodiscard]] std::string key_text(NodeId key) const;
  /// The value as a dialect and a report know it. Reads tensor elements where there are at most `max_elements`;
  /// larger ones, and whatever has no value of its own, come with their type alone.
  [[nodiscard]] Value value(NodeId id, std::uint64_t max_elements = 16) const;
  /// The attributes of an object or the map itself: what holds named fields. nowhere for anything else.
  [[nodiscard]] NodeId fields(NodeId id) const;

  // ---- building (containers only)
  /// `text`: what nodes' spans and string runs point into. The tree keeps it.
  explicit Tree(std::shared_ptr<const Bytes> text) : text_(std::move(text)) {}
  Tree() : text_(std::make_shared<Bytes>()) {}
  NodeId add(Node node);
  Node& edit(NodeId id) { return nodes_[id]; }
  void reserve(std::size_t nodes, std::size_t items);
  /// A run of items that grows at its end; moved when something stands behind it.
  void set_items(NodeId id, std::span<const NodeId> items);
  void append_items(NodeId id, std::span<const NodeId> items);
  void replace_item(NodeId id, std::size_t index, NodeId item);
  /// Text that does not stand in the file as it is (decoded escapes, joined names).
  NodeId add_text(Kind kind, std::string_view text, Span span);
  void set_big_integer(NodeId id, std::string decimal);
  void install(std::shared_ptr<const TensorReader> reader) { reader_ = std::move(reader); }
  [[nodiscard]] const Bytes& bytes() const { return *text_; }

 private:
  std::shared_ptr<const Bytes> text_;
  std::vector<Node> nodes_;
  std::vector<NodeId> items_;
  std::string side_text_;
  std::vector<std::string> big_integers_;
  std::shared_ptr<const TensorReader> reader_;
};

}  // namespace tare
