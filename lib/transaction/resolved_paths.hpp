// Paths that somebody named, without links: a folder is resolved once, however many of its files are asked for.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lib/transaction/folder.hpp"

namespace tare {

struct ResolvedPath {
  std::string path;                   ///< absolute, without symlinks
  std::optional<struct stat> status;  ///< of what is there; nothing where nothing is
  bool is_link = false;               ///< the name itself is one
};

class ResolvedPaths {
 public:
  explicit ResolvedPaths(FileLayer& files) : files_(files) {}

  /// A last part that does not exist is kept as it is. Throws `io` where its folder does not exist.
  ResolvedPath of(const std::string& path);

 private:
  const Folder& folder(const std::string& words);
  [[nodiscard]] ResolvedPath followed(const std::string& path) const;

  FileLayer& files_;
  std::map<std::string, Folder> folders_;  ///< by the words for them
};

/// One path alone.
std::string resolved_path(FileLayer& files, const std::string& path);

}  // namespace tare
