// Every value of a tree that holds bytes which could be a document of their own.
#pragma once

#include <functional>
#include <string>

#include "lib/tree/tree.hpp"

namespace tare {

struct NestedBytes {
  std::string path = {};         ///< of the value that holds them; empty where no path leads there
  bool is_extra_state = false;   ///< whether its key is TransformerEngine's
  bool is_stream = false;        ///< of an io.BytesIO
  bool is_again = false;         ///< shown before under another path
  bool is_other_tensor = false;  ///< of another type or shape than a row of bytes, which TransformerEngine reads, too
  bool is_computed = false;      ///< under a key of extra state: an object whose bytes only loading would tell
  NodeId node = nowhere;         ///< bytes, or a tensor or array, or that object
};

/// Shows each of them to `take`: those that a path leads to in the order of the walk, under every key of extra state,
/// then the rest. Of tensors that is each row of bytes (uint8 in one dimension), and whatever stands under a key of
/// extra state. Those of no readable description are left out.
void each_nested_bytes(const Tree& tree, const std::function<void(const NestedBytes&)>& take);

}  // namespace tare
