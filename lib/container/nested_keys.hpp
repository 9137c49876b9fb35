// The nested state that flattened keys come from: "app.scaler.scale" is `scale` in `scaler` in `app`.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/tree/tree.hpp"

namespace tare {

class NestedKeys {
 public:
  /// For maps in `tree`, whose budget pays for them.
  explicit NestedKeys(Tree& tree) : tree_(tree) {}
  /// Borrows `key`. A value whose key is the beginning of others' stands beside their map, under the same name. Dots
  /// behind a slash are none of the state's: Megatron-core writes a shard's place there ("rng_state/shard_0.1_1.2").
  void add(std::string_view key, NodeId value);
  /// The maps, as nodes; the outermost one.
  NodeId write() const;

 private:
  struct Map {
    std::vector<std::pair<std::string_view, NodeId>> values;
    std::vector<std::pair<std::string_view, std::size_t>> inner;
  };

  std::size_t below(std::size_t map, std::string_view key);

  Tree& tree_;
  std::vector<Map> maps_ = std::vector<Map>(1);
  std::map<std::pair<std::size_t, std::string_view>, std::size_t> number_;
};

}  // namespace tare
