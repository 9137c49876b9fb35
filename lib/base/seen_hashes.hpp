// A set of hashes in eight bytes each and some room: a node of std::unordered_set takes five times that.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace tare {

class SeenHashes {
 public:
  /// Whether it was not in yet.
  bool insert(std::size_t hash) {
    if (hash == none) return !std::exchange(has_none_, true);
    if (4 * (count_ + 1) > 3 * places_.size()) grow();
    const bool is_new = put(hash);
    if (is_new) ++count_;
    return is_new;
  }

 private:
  static constexpr std::size_t none = 0;  // what an empty place holds

  bool put(std::size_t hash) {
    std::size_t at = hash & (places_.size() - 1);
    while (places_[at] != none && places_[at] != hash) at = (at + 1) & (places_.size() - 1);
    const bool is_new = places_[at] == none;
    places_[at] = hash;
    return is_new;
  }

  void grow() {
    std::vector<std::size_t> smaller(places_.empty() ? 16 : 2 * places_.size());
    places_.swap(smaller);
    for (const std::size_t hash : smaller) {
      if (hash != none) put(hash);
    }
  }

  std::vector<std::size_t> places_;  ///< a power of two of them
  std::size_t count_ = 0;
  bool has_none_ = false;
};

}  // namespace tare
