#include "lib/container/nested_keys.hpp"

#include <algorithm>

#include "lib/base/keyed_hash.hpp"

namespace tare {

std::size_t NestedKeys::Hash::operator()(Number number) const {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // spreads holders that follow one another
  const Map& map = (*maps)[number];
  return KeyedHash()(map.key) ^ (map.holder + 1) * golden;
}

bool NestedKeys::Equal::operator()(Number a, Number b) const {
  return (*maps)[a].holder == (*maps)[b].holder && (*maps)[a].key == (*maps)[b].key;
}

template <typename Item>
void NestedKeys::append(std::vector<Item>& items, Chain& chain, Number added) {
  (chain.last == none ? chain.first : items[chain.last].next) = added;
  chain.last = added;
}

void NestedKeys::add(std::string_view key, NodeId value) {
  Number at = 0;
  std::size_t before_slash = std::min(key.find('/'), key.size());
  for (std::size_t dot = key.find('.'); dot < before_slash; dot = key.find('.')) {
    at = below(at, key.substr(0, dot));
    key.remove_prefix(dot + 1);
    before_slash -= dot + 1;
  }
  values_.push_back({key, value});
  append(values_, maps_[at].values, static_cast<Number>(values_.size() - 1));
}

NodeId NestedKeys::write() const {
  tree_.reserve(2 * maps_.size() + values_.size(), 3 * maps_.size() + 2 * values_.size());
  std::vector<NodeId> written(maps_.size());
  std::vector<NodeId> pairs;
  for (std::size_t i = maps_.size(); i-- > 0;) {  // a map stands behind the one that holds it
    pairs.clear();
    take_pairs(maps_[i], written, pairs);
    written[i] = tree_.add_items(Kind::map, pairs, {});
  }
  return written.front();
}

void NestedKeys::take_pairs(const Map& map, const std::vector<NodeId>& written, std::vector<NodeId>& pairs) const {
  for (Number at = map.values.first; at != none; at = values_[at].next) {
    pairs.push_back(tree_.add_side_text(Kind::string, values_[at].key, {}));
    pairs.push_back(values_[at].node);
  }
  for (Number at = map.inner.first; at != none; at = maps_[at].next) {
    pairs.push_back(tree_.add_side_text(Kind::string, maps_[at].key, {}));
    pairs.push_back(written[at]);
  }
}

NestedKeys::Number NestedKeys::below(Number holder, std::string_view key) {
  const Number last = maps_[holder].inner.last;
  if (last != none && maps_[last].key == key) return last;  // keys of one map mostly stand together
  const auto number = static_cast<Number>(maps_.size());
  maps_.push_back({key, holder, none, {}, {}});
  const auto [known, is_new] = numbers_.insert(number);
  if (!is_new) {
    maps_.pop_back();
    return *known;
  }
  constexpr std::size_t bytes_a_map = 256;  // here, and for the names that lead to it
  tree_.take_memory(bytes_a_map);
  append(maps_, maps_[holder].inner, number);
  return number;
}

}  // namespace tare
