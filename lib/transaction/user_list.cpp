#include "lib/transaction/user_list.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <string_view>
#include <vector>

namespace tare {
namespace {

constexpr std::size_t most_bytes = 4096;  ///< of a line, with its end
constexpr std::size_t name_part = 0, id_part = 2, home_part = 5, part_count = 7;

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= line.size();) {
    const std::size_t end = std::min(line.find(':', start), line.size());
    parts.push_back(line.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::optional<uid_t> number_of(std::string_view text) {
  uid_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<User> user_in(std::istream& list, uid_t id) {
  std::array<char, most_bytes> line{};
  while (!list.eof()) {
    if (!list.getline(line.data(), line.size())) {
      if (list.eof() || list.bad()) break;
      list.clear();  // a line that is too long
      list.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
      continue;
    }
    const auto parts = columns_of(line.data());
    if (parts.size() != part_count || parts[name_part].empty() || number_of(parts[id_part]) != id) continue;
    return User{std::string(parts[name_part]), std::string(parts[home_part])};
  }
  return std::nullopt;
}

std::optional<User> user_of(uid_t id) {
  std::ifstream list("/etc/passwd");
  return list ? user_in(list, id) : std::nullopt;
}

}  // namespace tare
