// Paths as text: where the folder ends and the file's name begins.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// "c.pt" of "a/b/c.pt", and of "c.pt".
constexpr std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// "a/b/" of "a/b/c.pt"; empty for a name alone.
constexpr std::string_view folder_prefix(std::string_view path) {
  return path.substr(0, path.rfind('/') + 1);
}

/// "/a" of "/a/b", "/" of "/a" and of "/"; "." of a name alone.
inline std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

}  // namespace tare
