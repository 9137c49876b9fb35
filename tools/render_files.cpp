#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "tools/render.hpp"

using namespace tare;

namespace {

constexpr std::size_t most_named = 4;

std::string_view name_below(std::string_view folder, std::string_view path) {
  const bool is_below = path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
  return is_below ? path.substr(folder.size() + 1) : path;
}

}  // namespace

std::string render_names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most_named; ++i) text += (i == 0 ? "" : ", ") + escaped(names[i]);
  if (names.size() > most_named) text += fmt::format(" and {} more", names.size() - most_named);
  return text;
}

std::string render_files(const std::string& where, const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) names.emplace_back(name_below(where, path));
  const bool is_itself = names.empty() || (names.size() == 1 && names.front() == where);
  return is_itself ? escaped(where) : fmt::format("{}: {}", escaped(where), render_names(names));
}
