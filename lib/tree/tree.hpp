// A value read from a file, whole: the same for every format. Dialects look at nothing else.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/budget.hpp"
#include "lib/base/bytes.hpp"
#include "lib/base/realloc_vector.hpp"
#include "lib/tree/integer.hpp"
#include "lib/tree/node.hpp"
#include "lib/tree/tensor.hpp"
#include "lib/tree/value.hpp"

namespace tare {

class Tree;

/// What a container installs so that a tree can hand out what lies outside its nodes. Called only where somebody asks.
class TensorReader {
 public:
  virtual ~TensorReader() = default;
  /// REQUIRES: kind tensor or array. Throws `corrupt` where its description makes no sense.
  [[nodiscard]] virtual Tensor describe(NodeId node) const = 0;
  /// All elements in row-major order, little-endian. Throws `corrupt` where they are not in the file.
  [[nodiscard]] virtual Bytes elements(NodeId node) const = 0;
  /// The document that the bytes in `node` are (a pickle in a uint8 tensor, in bytes, in an io.BytesIO), read anew;
  /// null where it holds none. Throws `unsupported`, `corrupt` or `refused` where its bytes are no document that can be
  /// read.
  [[nodiscard]] virtual std::shared_ptr<const Tree> open(NodeId) const { return nullptr; }
};

/// A class or function, as the file spells it.
struct QualifiedName {
  std::string_view module;
  std::string_view name;

  friend bool operator==(const QualifiedName&, const QualifiedName&) = default;
};

class Tree {
 public:
  NodeId root = nowhere;

  // ---- reading: views are valid until the tree changes
  [[nodiscard]] const Node& operator[](NodeId id) const { return nodes_[id]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] Kind kind(NodeId id) const { return nodes_[id].kind; }
  [[nodiscard]] Span span(NodeId id) const { return {nodes_[id].begin, nodes_[id].size}; }
  /// REQUIRES: kind integer.
  [[nodiscard]] Integer integer(NodeId id) const;
  /// REQUIRES: kind string or bytes. The raw bytes.
  [[nodiscard]] std::string_view text(NodeId id) const;
  /// list, tuple, set: the items; map: key, value, key, value ...; anything else, and nowhere: none.
  [[nodiscard]] std::span<const NodeId> items(NodeId id) const;
  /// The value under a string key of a map; nowhere where there is none, or `map` is no map (or nowhere itself).
  [[nodiscard]] NodeId find(NodeId map, std::string_view key) const;
  /// The class or function that a name, or the class or callee of an opaque node, stands for; empty for others.
  [[nodiscard]] QualifiedName qualified_name(NodeId id) const;
  /// Opaque nodes: what was called or instantiated, with which arguments, given which state, filled with which items
  /// (a map or a list). nowhere where there is none, and for other kinds. Tensors and arrays of a pickle have them too.
  [[nodiscard]] NodeId callee(NodeId opaque) const { return part(opaque, 0); }
  [[nodiscard]] NodeId arguments(NodeId opaque) const { return part(opaque, 1); }
  [[nodiscard]] NodeId state(NodeId opaque) const { return part(opaque, 2); }
  [[nodiscard]] NodeId contents(NodeId opaque) const { return part(opaque, 3); }
  /// All four at once.
  [[nodiscard]] std::span<const NodeId> parts(NodeId opaque) const;
  /// What holds named fields: a map itself, an object's attributes. nowhere for anything else.
  [[nodiscard]] NodeId fields(NodeId id) const;
  /// A key of any kind as paths show it: text as it is, numbers in decimal, True, None, else the kind in brackets.
  [[nodiscard]] std::string key_text(NodeId key) const;
  /// REQUIRES: kind tensor or array. As TensorReader says.
  [[nodiscard]] Tensor tensor(NodeId id) const { return reader_->describe(id); }
  /// The value with its type. Of tensors of at most `max_elements` the elements are read; larger ones, and whatever
  /// has no value of its own, come with their type alone. Throws what TensorReader throws.
  [[nodiscard]] Value value(NodeId id, std::uint64_t max_elements) const;

  /// The document in a node, as TensorReader::open says. It outlives this tree.
  [[nodiscard]] std::shared_ptr<const Tree> open(NodeId id) const { return reader_ ? reader_->open(id) : nullptr; }

  /// Of the file that it was read from; null where nobody counts. Whoever looks at a part of it again and again, and
  /// whoever keeps something for every node, takes that from here.
  [[nodiscard]] const std::shared_ptr<Budget>& budget() const { return budget_; }
  void take_steps(std::uint64_t count) const {
    if (budget_ != nullptr) budget_->take_steps(count);
  }
  void take_memory(std::uint64_t bytes) const {
    if (budget_ != nullptr) budget_->take_memory(bytes);
  }

  /// For what outlives the file that it was read from.
  void keep_memory(std::uint64_t bytes) const {
    if (budget_ != nullptr) budget_->keep_memory(bytes);
  }

  // ---- building: containers only
  Tree() : text_(std::make_shared<const Bytes>()) {}
  /// `text` is what spans and runs of RunIn::text point into. Everything added is taken from `budget`, if there is one.
  explicit Tree(std::shared_ptr<const Bytes> text, std::shared_ptr<Budget> budget = nullptr)
      : text_(std::move(text)), budget_(std::move(budget)) {}
  explicit Tree(std::shared_ptr<Budget> budget) : Tree(std::make_shared<const Bytes>(), std::move(budget)) {}
  /// For so many more. A node with items takes one slot more than it has.
  void reserve(std::size_t nodes, std::size_t items);
  NodeId add(const Node& node);
  Node& edit(NodeId id) { return nodes_[id]; }
  /// A string or bytes node whose text does not stand in the file as it is.
  NodeId add_side_text(Kind kind, std::string_view text, Span span);
  NodeId add_big_integer(std::string_view decimal, Span span);
  /// A node with those items.
  NodeId add_items(Kind kind, std::span<const NodeId> items, Span span);
  /// Adds behind the items that are there. REQUIRES: a node made by add_items.
  void append_items(NodeId id, std::span<const NodeId> items);
  void replace_item(NodeId id, std::size_t index, NodeId item);
  /// Forgets the items from `count` on.
  void truncate_items(NodeId id, std::size_t count) { nodes_[id].as.run.count = static_cast<std::uint32_t>(count); }
  void install(std::shared_ptr<const TensorReader> reader) { reader_ = std::move(reader); }
  /// Takes over all nodes of another tree, in their order: node `id` there becomes the returned number + `id` here,
  /// with its place in the text that it was read from. Tensors stay for this tree's own reader to describe.
  NodeId graft(const Tree& other);
  [[nodiscard]] const TensorReader* reader() const { return reader_.get(); }
  [[nodiscard]] const Bytes& bytes() const { return *text_; }

 private:
  [[nodiscard]] NodeId part(NodeId opaque, std::size_t index) const;
  [[nodiscard]] std::string_view run_text(const Node& node) const;
  /// Room for `count` more items behind all others; where it starts.
  std::size_t extend_items(std::size_t count);
  /// A run with room to grow; the slot before a run holds its room.
  Node::Run open_run(std::span<const NodeId> items, std::size_t room);

  std::shared_ptr<const Bytes> text_;
  std::shared_ptr<Budget> budget_;
  ReallocVector<Node> nodes_;
  ReallocVector<NodeId> items_;  ///< runs; what lies beyond items_used_ is room that grew ahead
  std::size_t items_used_ = 0;
  std::string side_text_;
  std::shared_ptr<const TensorReader> reader_;
};

}  // namespace tare
