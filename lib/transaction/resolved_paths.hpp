// Paths that somebody named, without links: a folder is resolved once, however many of its files are asked for, and
// listed where these are many.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "lib/base/files.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/transaction/folder.hpp"

namespace tare {

struct ResolvedPath {
  std::string path;                  ///< absolute, without symlinks
  FileType type = FileType::absent;  ///< of what is there
  bool is_link = false;              ///< the name itself is one
};

class ResolvedPaths {
 public:
  explicit ResolvedPaths(FileLayer& files) : files_(files) {}

  /// A last part that does not exist is kept as it is. Throws `io` where its folder does not exist.
  ResolvedPath of(const std::string& path);

 private:
  struct KnownFolder {
    Folder folder;
    std::size_t asked = 0;  ///< how often for what lies in it
    std::unordered_map<std::string, FileType, KeyedHash> listed = {};
  };

  KnownFolder& folder(const std::string& words);
  [[nodiscard]] static FileType type_in(KnownFolder& folder, const std::string& name);
  [[nodiscard]] ResolvedPath followed(const std::string& path) const;

  FileLayer& files_;
  std::map<std::string, KnownFolder> folders_;  ///< by the words for them
};

/// One path alone.
std::string resolved_path(FileLayer& files, const std::string& path);

}  // namespace tare
