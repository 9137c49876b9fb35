#include "lib/container/nested_keys.hpp"

#include <algorithm>

namespace tare {

void NestedKeys::add(std::string_view key, NodeId value) {
  std::size_t at = 0;
  std::size_t before_slash = std::min(key.find('/'), key.size());
  for (std::size_t dot = key.find('.'); dot < before_slash; dot = key.find('.')) {
    at = below(at, key.substr(0, dot));
    key.remove_prefix(dot + 1);
    before_slash -= dot + 1;
  }
  maps_[at].values.emplace_back(key, value);
}

NodeId NestedKeys::write() const {
  std::vector<NodeId> written(maps_.size());
  for (std::size_t i = maps_.size(); i-- > 0;) {  // a map stands behind the one that holds it
    std::vector<NodeId> pairs;
    for (const auto& [key, value] : maps_[i].values) {
      pairs.push_back(tree_.add_side_text(Kind::string, key, {}));
      pairs.push_back(value);
    }
    for (const auto& [key, map] : maps_[i].inner) {
      pairs.push_back(tree_.add_side_text(Kind::string, key, {}));
      pairs.push_back(written[map]);
    }
    written[i] = tree_.add_items(Kind::map, pairs, {});
  }
  return written.front();
}

std::size_t NestedKeys::below(std::size_t map, std::string_view key) {
  const auto [known, is_new] = number_.try_emplace({map, key}, maps_.size());
  if (is_new) {
    constexpr std::size_t bytes_a_map = 256;  // here, and for the names that lead to it
    tree_.take_memory(bytes_a_map);
    maps_[map].inner.emplace_back(key, maps_.size());
    maps_.emplace_back();
  }
  return known->second;
}

}  // namespace tare
