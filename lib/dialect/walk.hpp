// A walk over everything in a tree that can hold named state: dicts, lists, tuples and objects' attributes, each once,
// in file order. It does not recurse, does not look into tensors, and makes no path until one is asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/tree/tree.hpp"

namespace tare {

/// A place that the walk came through. Numbers of steps are given in the order of the walk; the root's is 0.
struct Step {
  NodeId node = nowhere;
  std::uint32_t parent = 0;  ///< the step that led here; the root's own
  std::uint32_t slot = 0;    ///< which of the parent's children this is
};

class TreeWalk {
 public:
  explicit TreeWalk(const Tree& tree) : tree_(tree), seen_(tree.size()), shared_(tree.size()) {}

  /// Moves on; false at the end. After true, current() is a step never seen before.
  bool next();
  [[nodiscard]] std::uint32_t current() const { return static_cast<std::uint32_t>(steps_.size() - 1); }
  [[nodiscard]] const Step& step(std::uint32_t number) const { return steps_[number]; }

  /// An object's attributes and contents stand at the object's own path.
  [[nodiscard]] std::string path(std::uint32_t number) const;
  /// The object whose attributes are at that step; nowhere where they are nobody's.
  [[nodiscard]] NodeId owner(std::uint32_t number) const;
  /// The key that leads to a step, seen through objects; empty where it is no key.
  [[nodiscard]] std::string last_key(std::uint32_t number) const;
  /// Every other way to a step or to what holds it, as paths to the step; at most `most`. Ways that come from inside it
  /// are left out. Call it after the walk.
  [[nodiscard]] std::vector<std::string> other_paths(std::uint32_t number, std::size_t most) const;

 private:
  struct Open {
    std::uint32_t step;
    std::uint32_t next;  ///< slot
  };

  bool is_new(NodeId node);
  void enter(NodeId node, std::uint32_t parent, std::uint32_t slot);
  [[nodiscard]] std::string joined(const std::string& parent, std::uint32_t parent_step, std::uint32_t slot) const;
  [[nodiscard]] bool is_inside(std::uint32_t number, std::uint32_t of) const;
  [[nodiscard]] std::vector<std::uint32_t> chain(std::uint32_t number) const;

  const Tree& tree_;
  std::vector<bool> seen_;    ///< by node
  std::vector<bool> shared_;  ///< by node: come to more than once
  std::vector<Step> steps_;
  std::vector<Open> open_;
};

}  // namespace tare
