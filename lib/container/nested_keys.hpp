// The nested state that flattened keys come from: "app.scaler.scale" is `scale` in `scaler` in `app`.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lib/tree/tree.hpp"

namespace tare {

/// About a hundred bytes for each map and 24 for each value: checkpoints have a million of either.
class NestedKeys {
 public:
  /// For maps in `tree`, whose budget pays for them.
  explicit NestedKeys(Tree& tree) : tree_(tree), numbers_(0, Hash{&maps_}, Equal{&maps_}) {}
  NestedKeys(const NestedKeys&) = delete;
  NestedKeys& operator=(const NestedKeys&) = delete;
  /// Borrows `key`. A value whose key is the beginning of others' stands beside their map, under the same name. Dots
  /// behind a slash are none of the state's: Megatron-core writes a shard's place there ("rng_state/shard_0.1_1.2").
  void add(std::string_view key, NodeId value);
  /// The maps, as nodes; the outermost one.
  NodeId write() const;

 private:
  using Number = std::uint32_t;
  static constexpr Number none = nowhere;

  /// Those of one map, in the order in which they came: each knows the next.
  struct Chain {
    Number first = none, last = none;
  };
  struct Value {
    std::string_view key;
    NodeId node;
    Number next = none;
  };
  struct Map {
    std::string_view key;
    Number holder;
    Number next = none;
    Chain values, inner;
  };
  struct Hash {
    const std::vector<Map>* maps;
    std::size_t operator()(Number number) const;
  };
  struct Equal {
    const std::vector<Map>* maps;
    bool operator()(Number a, Number b) const;
  };

  template <typename Item>
  static void append(std::vector<Item>& items, Chain& chain, Number added);
  Number below(Number holder, std::string_view key);
  void take_pairs(const Map& map, const std::vector<NodeId>& written, std::vector<NodeId>& pairs) const;

  Tree& tree_;
  std::vector<Map> maps_ = {{{}, none, none, {}, {}}};
  std::vector<Value> values_;
  std::unordered_set<Number, Hash, Equal> numbers_;  ///< of maps, by holder and key
};

}  // namespace tare
