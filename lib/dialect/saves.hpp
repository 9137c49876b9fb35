// Several saves of one run as files beside each other in one folder, by the numbers in their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

struct Saves {
  std::string last;  ///< the file's name
  std::size_t count = 0;
  std::string why;  ///< "what Lightning's ckpt_path=\"last\" loads"
  /// All whose names have that right, where several do: it is that of the one written last, and `last` is any of them.
  std::vector<std::string> rivals = {};
};

/// The number behind `key` in "epoch=1-step=20.ckpt".
std::optional<std::uint64_t> number_behind(std::string_view name, std::string_view key);

/// The name with the highest number behind `key`; nothing where one has none, or the highest stands in two.
std::optional<std::string> highest_save(const std::vector<std::string>& names, std::string_view key);

}  // namespace tare
