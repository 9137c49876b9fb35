#include "lib/checkpoint/paths_matching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/glob.hpp"
#include "lib/base/limits.hpp"
#include "lib/checkpoint/names.hpp"

namespace tare {
namespace {

bool has_wildcard(std::string_view text) {
  return text.find_first_of("*?") != text.npos;
}

/// What in `folder` is called as `part` says.
std::vector<std::string> matching_in(const Files& files, const std::string& folder, std::string_view part) {
  std::vector<std::string> found;
  const std::string listed = folder.empty() ? "/" : folder;
  if (files.type(listed) != FileType::folder) return found;
  for (const auto& [name, type] : files.list(listed)) {
    if (name == part) return {folder + "/" + name};
    const bool is_hidden = name.starts_with('.') && !part.starts_with('.');
    if (!is_hidden && glob_matches(part, name)) found.push_back(folder + "/" + name);
  }
  std::ranges::sort(found, natural_less);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

namespace {

/// All that is called so; may be none.
std::vector<std::string> all_matching(const Files& files, const std::string& pattern, std::size_t root_bytes) {
  std::vector<std::string> found{pattern.substr(0, root_bytes)};
  while (found.front().ends_with('/')) found.front().pop_back();
  for (std::string_view rest = std::string_view(pattern).substr(root_bytes); !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.empty()) continue;
    std::vector<std::string> next;
    for (const std::string& folder : found) {
      const std::vector<std::string> more =
          has_wildcard(part) ? matching_in(files, folder, part) : std::vector{fmt::format("{}/{}", folder, part)};
      next.insert(next.end(), more.begin(), more.end());
      if (next.size() > limits::max_files) throw Error(Status::refused, pattern + ": too many paths are called so");
    }
    found = std::move(next);
  }
  std::erase_if(found, [&](const std::string& path) { return files.type(path) == FileType::absent; });
  return found;
}

}  // namespace

std::vector<std::string> paths_matching(const Files& files, const std::string& pattern, std::size_t root_bytes) {
  if (!has_wildcard(std::string_view(pattern).substr(root_bytes))) return {pattern};
  std::vector<std::string> found = all_matching(files, pattern, root_bytes);
  if (!found.empty()) return found;
  throw Error(Status::not_found, pattern + ": nothing is called so", "`tare ls` lists what is there");
}

std::vector<std::string> local_paths_matching(const Files& files, const std::string& pattern) {
  constexpr std::string_view here = "./";
  if (!has_wildcard(pattern) || files.type(pattern) != FileType::absent) return {pattern};
  const bool is_absolute = pattern.starts_with('/');
  std::vector<std::string> found = all_matching(files, is_absolute ? pattern : std::string(here) + pattern, 1);
  if (found.empty()) return {pattern};
  if (is_absolute) return found;
  for (std::string& path : found) path.erase(0, here.size());
  return found;
}

}  // namespace tare
