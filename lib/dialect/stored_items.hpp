// Which items of a checkpoint that stores every value by itself can be scaler state: told by their keys, before
// anything of them is read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

struct StoredItem {
  std::string_view key;  ///< parts joined by dots: "app.scaler.scale"
  bool is_tensor = false;
  std::uint64_t size = 0;  ///< bytes as stored
};

/// One flag an item: the fields of what has all of a dialect's keys beside each other, and every small object that is
/// not known to be something else (a whole scaler may be in it).
std::vector<bool> possible_state(std::span<const StoredItem> items);

/// "57 tensors and 12 objects under model, optim". Items of one key, beside each other, are one tensor.
std::string describe_items(std::span<const StoredItem> items);

}  // namespace tare
