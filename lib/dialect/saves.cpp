#include "lib/dialect/saves.hpp"

#include <charconv>

namespace tare {

std::optional<std::uint64_t> number_behind(std::string_view name, std::string_view key) {
  const std::size_t at = name.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* const begin = name.data() + at + key.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), number);
  return error == std::errc() && end != begin ? std::optional(number) : std::nullopt;
}

std::optional<std::string> highest_save(const std::vector<std::string>& names, std::string_view key) {
  const std::string* found = nullptr;
  std::uint64_t most = 0;
  bool is_shared = false;
  for (const std::string& name : names) {
    const auto number = number_behind(name, key);
    if (!number) return std::nullopt;
    is_shared = found != nullptr && (*number == most || (is_shared && *number < most));
    if (found != nullptr && *number <= most) continue;
    found = &name;
    most = *number;
  }
  return found == nullptr || is_shared ? std::nullopt : std::optional(*found);
}

}  // namespace tare
