#include "lib/attest/array_type.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>

#include "lib/base/limits.hpp"

namespace tare {
namespace {

class ArrayTypes {
 public:
  explicit ArrayTypes(const Tree& tree) : tree_(tree) {}

  bool any_false() {
    for (NodeId node = 0; node < tree_.size(); ++node) {
      if (is_type(node) && !is_true(node)) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t base = 2, fields = 4, flags = 7;  ///< of the state: version, byte order, ...
  static constexpr std::int64_t counts_objects = 1;

  [[nodiscard]] bool is_type(NodeId node) const {
    const QualifiedName name = tree_.qualified_name(node);
    return name.module == "numpy" && name.name == "dtype";
  }

  [[nodiscard]] std::span<const NodeId> state(NodeId type) const { return tree_.items(tree_.state(type)); }

  /// A type without a state is what its code says.
  bool is_true(NodeId type) {
    const NodeId given = tree_.state(type);
    if (given == nowhere) return true;
    const auto parts = state(type);
    if (tree_.kind(given) != Kind::tuple || parts.size() <= flags || tree_.kind(parts[flags]) != Kind::integer)
      return false;
    return ((tree_[parts[flags]].as.integer & counts_objects) != 0) == holds_objects(type, 0);
  }

  bool holds_objects(NodeId type, std::size_t depth) {
    if (depth == limits::max_nested_depth) return true;
    if (const auto known = known_.find(type); known != known_.end()) return known->second;
    const bool holds = is_object_code(type) || part_holds_objects(type, depth);
    return known_[type] = holds;
  }

  [[nodiscard]] bool is_object_code(NodeId type) const {
    const auto arguments = tree_.items(tree_.arguments(type));
    if (arguments.empty() || tree_.kind(arguments.front()) != Kind::string) return true;  // nothing that NumPy writes
    std::string_view code = tree_.text(arguments.front());
    code.remove_prefix(std::min(code.find_first_not_of("<>|="), code.size()));
    return code.starts_with('O') || code.starts_with("object");
  }

  bool part_holds_objects(NodeId type, std::size_t depth) {
    const auto parts = state(type);
    if (parts.size() <= flags) return false;
    if (first_holds_objects(parts[base], depth)) return true;
    const auto pairs = tree_.kind(parts[fields]) == Kind::map ? tree_.items(parts[fields]) : std::span<const NodeId>();
    for (std::size_t i = 1; i < pairs.size(); i += 2) {
      if (first_holds_objects(pairs[i], depth)) return true;
    }
    return false;
  }

  /// Of a type and its shape, or its offset.
  bool first_holds_objects(NodeId pair, std::size_t depth) {
    const auto items = tree_.items(pair);
    return !items.empty() && is_type(items.front()) && holds_objects(items.front(), depth + 1);
  }

  const Tree& tree_;
  std::map<NodeId, bool> known_;
};

}  // namespace

bool has_false_array_type(const Tree& tree) {
  return tree.root != nowhere && ArrayTypes(tree).any_false();
}

}  // namespace tare
