// The arrays of a checkpoint as a tree: "opt_state.0.count" is `count` in `0` in `opt_state`.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/orbax/zarr.hpp"

namespace tare {

/// Where arrays are kept: files in a folder, or keys of a database.
class ZarrStore {
 public:
  virtual ~ZarrStore() = default;
  /// What stands under `key`; nothing where nothing does. Throws `refused` where that is more than `most` bytes.
  [[nodiscard]] virtual std::optional<Bytes> get(const std::string& key, std::uint64_t most) = 0;
};

/// The names of values that were Python's own numbers, and are stored as arrays. Called where a type allows it.
using PythonNumbers = std::function<std::set<std::string>()>;

class ZarrTree {
 public:
  /// Reads the arrays of those names, their documents and chunks. What cannot be read is told in the findings
  /// (`item-not-read`). `budget`: of the files that they are in.
  ZarrTree(ZarrStore& store, std::vector<std::string> names, const PythonNumbers& python_numbers,
           std::shared_ptr<Budget> budget);

  [[nodiscard]] const Tree& tree() const { return tree_; }
  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }

  struct Value {
    std::string chunk_key;
    Bytes chunk;
    ZarrArray array;
  };
  /// Null for a node that is no value.
  [[nodiscard]] const Value* value(NodeId node) const;
  /// The chunk of the node's array, as `change` makes it. Throws `refused` where it cannot hold the number.
  [[nodiscard]] Bytes changed_chunk(const NodeChange& change) const;

 private:
  std::vector<std::string> names_;
  Tree tree_;
  std::map<NodeId, Value> values_;
  std::vector<Finding> findings_;
};

}  // namespace tare
