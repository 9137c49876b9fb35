// Every value of a tree that holds bytes which could be a document of their own.
#pragma once

#include <functional>
#include <string>

#include "lib/tree/tree.hpp"

namespace tare {

struct NestedBytes {
  std::string path;             ///< of the value that holds them; empty where no path leads there
  bool is_extra_state = false;  ///< whether its key is TransformerEngine's
  bool is_stream = false;       ///< of an io.BytesIO
  bool is_again = false;        ///< shown before under another path
  NodeId node = nowhere;        ///< bytes, or a one-dimensional tensor or array of uint8
};

/// Shows each of them to `take`: those that a path leads to in the order of the walk, under every key of extra state,
/// then the rest. Tensors of no readable description are left out.
void each_nested_bytes(const Tree& tree, const std::function<void(const NestedBytes&)>& take);

}  // namespace tare
