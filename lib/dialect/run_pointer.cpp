#include "lib/dialect/run_pointer.hpp"

#include <charconv>

#include "lib/base/file_path.hpp"

namespace tare {

std::optional<std::string> name_as_written(std::string_view text) {
  return std::string(text);
}

std::optional<std::string> last_part_of_path(std::string_view text) {
  return std::string(file_name(text));
}

std::optional<std::string> absolute_path(std::string_view text) {
  return text.starts_with('/') ? std::optional(std::string(text)) : std::nullopt;
}

std::optional<std::uint64_t> iteration_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace tare
