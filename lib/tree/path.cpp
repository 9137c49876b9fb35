#include "lib/tree/path.hpp"

#include <fmt/format.h>

namespace tare {

std::string key_path(std::string_view parent, std::string_view key) {
  return parent.empty() ? std::string(key) : fmt::format("{}.{}", parent, key);
}

std::string item_path(std::string_view parent, std::size_t index) {
  return fmt::format("{}[{}]", parent, index);
}

}  // namespace tare
