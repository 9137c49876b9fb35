// FP8 scaling state: recognised, so that nobody takes a file that has some for one that has none. Not read yet.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/dialect/walk.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

class Fp8Signs {
 public:
  explicit Fp8Signs(const Tree& tree) : tree_(tree) {}

  /// `map` is where `walk` stands.
  void look_at(NodeId map, const TreeWalk& walk);
  void report(std::vector<Finding>& findings) const;

 private:
  struct Sign {
    const char* what;
    std::size_t count;
    std::string first;  ///< path
  };

  void add(const char* what, const TreeWalk& walk, NodeId key);

  const Tree& tree_;
  std::vector<Sign> signs_;
};

}  // namespace tare
