#include "lib/tree/path.hpp"

#include <fmt/format.h>

namespace tare {

std::string key_path(std::string_view parent, std::string_view key) {
  return parent.empty() ? std::string(key) : fmt::format("{}.{}", parent, key);
}

std::string item_path(std::string_view parent, std::size_t index) {
  return fmt::format("{}[{}]", parent, index);
}

bool has_part(std::string_view dotted, std::string_view part) {
  for (std::size_t at = dotted.find(part); at != dotted.npos; at = dotted.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if ((at == 0 || dotted[at - 1] == '.') && (end == dotted.size() || dotted[end] == '.')) return true;
  }
  return false;
}

}  // namespace tare
