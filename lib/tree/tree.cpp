#include "lib/tree/tree.hpp"

#include <algorithm>

#include "lib/base/huge_pages.hpp"
#include "lib/base/text.hpp"

namespace tare {
namespace {

// What a walk keeps beside a node is counted with it: the size of what it holds, its place in the walk.
constexpr std::size_t bytes_a_node = sizeof(Node) + sizeof(float);
constexpr std::size_t bytes_a_collection = 16;
/// What making a node takes, and looking at it where state may be: documents inside a file have their memory back when
/// they are done with, and one of them can be there again and again.
constexpr std::uint64_t steps_a_node = 32;

}  // namespace

std::span<const NodeId> Tree::parts(NodeId opaque) const {
  if (opaque == nowhere || nodes_[opaque].store != RunIn::items) return {};
  const Kind kind = nodes_[opaque].kind;
  if (kind != Kind::opaque && kind != Kind::tensor && kind != Kind::array) return {};
  return std::span(items_).subspan(nodes_[opaque].as.run.first, nodes_[opaque].as.run.count);
}

NodeId Tree::part(NodeId opaque, std::size_t index) const {
  const auto all = parts(opaque);
  return index < all.size() ? all[index] : nowhere;
}

std::string_view Tree::run_text(const Node& node) const {
  const std::string_view whole = node.store == RunIn::side ? std::string_view(side_text_) : as_text(*text_);
  return whole.substr(node.as.run.first, node.as.run.count);
}

Integer Tree::integer(NodeId id) const {
  const Node& node = nodes_[id];
  if (node.store == RunIn::side) return {0, std::string(run_text(node))};
  return {node.as.integer, {}};
}

std::string_view Tree::text(NodeId id) const {
  return run_text(nodes_[id]);
}

std::span<const NodeId> Tree::items(NodeId id) const {
  if (id == nowhere) return {};
  const Node& node = nodes_[id];
  if (node.kind < Kind::list || node.kind > Kind::map) return {};
  return std::span(items_).subspan(node.as.run.first, node.as.run.count);
}

NodeId Tree::find(NodeId map, std::string_view key) const {
  if (map == nowhere || nodes_[map].kind != Kind::map) return nowhere;
  const auto pairs = items(map);
  take_steps(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (nodes_[pairs[i]].kind == Kind::string && run_text(nodes_[pairs[i]]) == key) return pairs[i + 1];
  }
  return nowhere;
}

QualifiedName Tree::qualified_name(NodeId id) const {
  if (id == nowhere) return {};
  if (nodes_[id].kind == Kind::opaque) id = callee(id);
  if (id == nowhere || nodes_[id].kind != Kind::name) return {};
  const Node& node = nodes_[id];
  if (node.store == RunIn::items) {
    return {text(items_[node.as.run.first]), text(items_[node.as.run.first + 1])};
  }
  const std::string_view both = run_text(node);
  const std::size_t middle = both.find('\n');
  return {both.substr(0, middle), both.substr(middle + 1)};
}

NodeId Tree::fields(NodeId id) const {
  if (id == nowhere) return nowhere;
  if (nodes_[id].kind == Kind::map) return id;
  const NodeId attributes = state(id);
  if (attributes == nowhere) return nowhere;
  if (nodes_[attributes].kind == Kind::map) return attributes;
  // An object with slots: its state is the pair (attributes or None, slots).
  const auto pair = items(attributes);
  if (nodes_[attributes].kind != Kind::tuple || pair.size() != 2) return nowhere;
  for (const NodeId half : pair) {
    if (nodes_[half].kind == Kind::map) return half;
  }
  return nowhere;
}

std::string Tree::key_text(NodeId key) const {
  const Node& node = nodes_[key];
  switch (node.kind) {
    case Kind::string:
    case Kind::bytes:
      take_steps(node.as.run.count);
      return std::string(run_text(node));
    case Kind::integer:
      return integer(key).text();
    case Kind::floating:
      return float_text(node.as.floating);
    case Kind::boolean:
      return node.as.boolean ? "True" : "False";
    case Kind::none:
      return "None";
    case Kind::name:
      return std::string(qualified_name(key).module) + "." + std::string(qualified_name(key).name);
    case Kind::tuple:
      return "<tuple>";
    default:
      return "<key>";
  }
}

void Tree::reserve(std::size_t nodes, std::size_t items) {
  nodes_.reserve(nodes_.size() + nodes);
  prefer_huge_pages(nodes_.data(), nodes_.capacity() * sizeof(Node));
  items_.reserve(items_used_ + items);
  prefer_huge_pages(items_.data(), items_.capacity() * sizeof(NodeId));
  items_.resize_unwritten(items_used_ + items);
}

NodeId Tree::add(const Node& node) {
  take_memory(bytes_a_node);
  take_steps(steps_a_node);
  nodes_.push_back(node);
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId Tree::add_side_text(Kind kind, std::string_view text, Span span) {
  Node node;
  node.begin = static_cast<std::uint32_t>(span.offset);
  node.size = node_size(span.size);
  node.kind = kind;
  node.store = RunIn::side;
  node.as.run = {static_cast<std::uint32_t>(side_text_.size()), static_cast<std::uint32_t>(text.size())};
  take_memory(text.size());
  side_text_ += text;
  return add(node);
}

NodeId Tree::add_big_integer(std::string_view decimal, Span span) {
  return add_side_text(Kind::integer, decimal, span);
}

NodeId Tree::add_items(Kind kind, std::span<const NodeId> items, Span span) {
  Node node;
  node.begin = static_cast<std::uint32_t>(span.offset);
  node.size = node_size(span.size);
  node.kind = kind;
  node.store = RunIn::items;
  take_memory(bytes_a_collection);
  node.as.run = open_run(items, items.size());
  return add(node);
}

std::size_t Tree::extend_items(std::size_t count) {
  take_memory(count * sizeof(NodeId));
  const std::size_t at = items_used_;
  items_used_ += count;
  if (items_used_ > items_.size()) items_.resize_unwritten(items_used_ + items_used_ / 2);
  return at;
}

Node::Run Tree::open_run(std::span<const NodeId> items, std::size_t room) {
  const std::size_t at = extend_items(room + 1) + 1;
  items_[at - 1] = static_cast<NodeId>(room);
  for (std::size_t i = 0; i < items.size(); ++i) items_[at + i] = items[i];
  return {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(items.size())};
}

void Tree::append_items(NodeId id, std::span<const NodeId> items) {
  Node::Run& run = nodes_[id].as.run;
  const std::size_t count = run.count + items.size();
  const std::size_t room = items_[run.first - 1];
  if (count > room && run.first + room == items_used_) {
    extend_items(count - room);
    items_[run.first - 1] = static_cast<NodeId>(count);
  } else if (count > room) {
    // Twice the room: lists that grow by turns stay linear in time and memory. What is filled first is mostly done
    // then.
    const std::vector<NodeId> moved(items_.begin() + run.first, items_.begin() + run.first + run.count);
    run = open_run(moved, moved.empty() ? count : 2 * count);
  }
  std::copy(items.begin(), items.end(), items_.begin() + run.first + run.count);
  run.count = static_cast<std::uint32_t>(count);
}

void Tree::replace_item(NodeId id, std::size_t index, NodeId item) {
  items_[nodes_[id].as.run.first + index] = item;
}

NodeId Tree::graft(const Tree& other) {
  take_steps(other.size() * steps_a_node);
  take_memory(other.size() * bytes_a_node + other.text_->size() + other.side_text_.size());
  const auto first = static_cast<NodeId>(nodes_.size());
  const auto text_at = static_cast<std::uint32_t>(side_text_.size());
  side_text_ += as_text(*other.text_);
  const auto side_at = static_cast<std::uint32_t>(side_text_.size());
  side_text_ += other.side_text_;
  const auto items_at = static_cast<std::uint32_t>(extend_items(other.items_used_));
  std::copy_n(other.items_.begin(), other.items_used_, items_.begin() + items_at);
  for (Node node : other.nodes_) {
    const bool is_text = node.kind == Kind::string || node.kind == Kind::bytes || node.kind == Kind::name;
    if (node.store == RunIn::items) {
      node.as.run.first += items_at;
      for (std::uint32_t i = 0; i < node.as.run.count; ++i) {
        NodeId& item = items_[node.as.run.first + i];
        if (item != nowhere) item += first;
      }
    } else if (node.store == RunIn::side) {
      node.as.run.first += side_at;
    } else if (is_text) {
      node.store = RunIn::side;
      node.as.run.first += text_at;
    }
    nodes_.push_back(node);
  }
  return first;
}

}  // namespace tare
