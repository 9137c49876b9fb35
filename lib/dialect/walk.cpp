#include "lib/dialect/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

bool has_attributes(Kind kind) {
  return kind == Kind::opaque || kind == Kind::tensor;
}

/// Of tensors those that have attributes.
bool is_container(const Tree& tree, NodeId node) {
  const Kind kind = tree.kind(node);
  if (kind == Kind::tensor) return tree.fields(node) != nowhere;
  return kind == Kind::map || kind == Kind::list || kind == Kind::tuple || kind == Kind::opaque;
}

/// Most lists and tuples are of numbers: sizes, strides, betas.
bool holds_containers(const Tree& tree, NodeId node) {
  const Kind kind = tree.kind(node);
  if (kind != Kind::list && kind != Kind::tuple) return true;
  const auto items = tree.items(node);
  return std::any_of(items.begin(), items.end(), [&](NodeId item) { return is_container(tree, item); });
}

/// What a node holds: a map's values, a sequence's items, an object's attributes and contents.
class Children {
 public:
  Children(const Tree& tree, NodeId node) {
    const Kind kind = tree.kind(node);
    if (has_attributes(kind)) {
      parts_ = {tree.fields(node), tree.contents(node)};
      items_ = parts_;
    } else {
      items_ = tree.items(node);
      stride_ = kind == Kind::map ? 2 : 1;
    }
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(items_.size() / stride_); }
  NodeId operator[](std::uint32_t slot) const { return items_[slot * stride_ + stride_ - 1]; }

 private:
  std::array<NodeId, 2> parts_{};
  std::span<const NodeId> items_;
  std::size_t stride_ = 1;
};

}  // namespace

bool TreeWalk::is_new(NodeId node) {
  if (node == nowhere || !is_container(tree_, node)) return false;
  if (seen_[node]) {
    shared_[node] = true;
    return false;
  }
  seen_[node] = !holds_containers(tree_, node);
  return !seen_[node];
}

void TreeWalk::enter(NodeId node, std::uint32_t parent, std::uint32_t slot) {
  seen_[node] = true;
  steps_.push_back({node, parent, slot});
  open_.push_back({current(), 0});
}

bool TreeWalk::next() {
  if (steps_.empty()) {
    if (!is_new(tree_.root)) return false;
    enter(tree_.root, 0, 0);
    return true;
  }
  while (!open_.empty()) {
    const std::uint32_t number = open_.back().step;
    const Children children(tree_, steps_[number].node);
    const std::uint32_t count = children.size();
    std::uint32_t slot = open_.back().next;
    while (slot < count && !is_new(children[slot])) ++slot;
    if (slot < count) {
      open_.back().next = slot + 1;
      enter(children[slot], number, slot);
      return true;
    }
    open_.pop_back();
  }
  return false;
}

std::string TreeWalk::joined(const std::string& parent, std::uint32_t parent_step, std::uint32_t slot) const {
  const NodeId node = steps_[parent_step].node;
  const Kind kind = tree_.kind(node);
  if (has_attributes(kind)) return parent;
  tree_.take_steps(parent.size());
  std::string path =
      kind == Kind::map ? key_path(parent, tree_.key_text(tree_.items(node)[2 * slot])) : item_path(parent, slot);
  if (path.size() <= limits::max_path_bytes) return path;
  throw Error(Status::refused, fmt::format("a path of more than {} bytes leads to a value", limits::max_path_bytes),
              "no framework nests like that");
}

std::vector<std::uint32_t> TreeWalk::chain(std::uint32_t number) const {
  std::vector<std::uint32_t> steps;
  for (; number != 0; number = steps_[number].parent) steps.push_back(number);
  tree_.take_steps(steps.size());
  std::reverse(steps.begin(), steps.end());
  return steps;
}

std::string TreeWalk::path(std::uint32_t number) const {
  std::string path;
  for (const std::uint32_t step : chain(number)) path = joined(path, steps_[step].parent, steps_[step].slot);
  return path;
}

NodeId TreeWalk::owner(std::uint32_t number) const {
  if (number == 0) return nowhere;
  const Step& step = steps_[number];
  const NodeId above = steps_[step.parent].node;
  return has_attributes(tree_.kind(above)) && step.slot == 0 ? above : nowhere;
}

std::string TreeWalk::last_key(std::uint32_t number) const {
  for (; number != 0; number = steps_[number].parent) {
    const NodeId above = steps_[steps_[number].parent].node;
    if (tree_.kind(above) == Kind::map) return tree_.key_text(tree_.items(above)[2 * steps_[number].slot]);
    if (!has_attributes(tree_.kind(above))) break;
  }
  return {};
}

bool TreeWalk::is_inside(std::uint32_t number, std::uint32_t of) const {
  std::uint64_t looked_at = 0;
  for (; number > of; ++looked_at) number = steps_[number].parent;
  tree_.take_steps(looked_at);
  return number == of;
}

std::vector<std::string> TreeWalk::other_paths(std::uint32_t number, std::size_t most) const {
  std::vector<std::uint32_t> shared = chain(number);
  std::erase_if(shared, [&](std::uint32_t step) { return !shared_[steps_[step].node]; });
  std::vector<std::string> paths;
  if (shared.empty()) return paths;

  for (std::uint32_t from = 0; from < steps_.size() && paths.size() < most; ++from) {
    const Children children(tree_, steps_[from].node);
    tree_.take_steps(1 + children.size());
    for (std::uint32_t slot = 0; slot < children.size() && paths.size() < most; ++slot) {
      const NodeId node = children[slot];
      const auto to =
          std::find_if(shared.begin(), shared.end(), [&](std::uint32_t s) { return steps_[s].node == node; });
      if (to == shared.end() || (steps_[*to].parent == from && steps_[*to].slot == slot)) continue;
      if (is_inside(from, *to)) continue;
      std::string path = joined(this->path(from), from, slot);
      for (const std::uint32_t step : chain(number)) {
        if (step > *to) path = joined(path, steps_[step].parent, steps_[step].slot);
      }
      paths.push_back(std::move(path));
    }
  }
  return paths;
}

}  // namespace tare
