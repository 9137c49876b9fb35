// All that lies below a folder, whoever put it there: a checkpoint's listing names what is worth opening, this names
// everything.
#pragma once

#include <string>
#include <vector>

#include "lib/base/files.hpp"

namespace tare {

/// Something that is no file to be read, and why.
struct NoFile {
  std::string path;
  std::string why;
};

struct FileTree {
  std::vector<std::string> files;  ///< regular ones, relative paths in natural order
  std::vector<NoFile> others;  ///< links that lead out of the folder or nowhere, sockets, pipes, folders that are shut
};

/// Hidden files and folders are among them. Links are not followed: what one inside leads to is there anyway. Throws
/// `io` where the folder itself cannot be listed, and `refused` for more than limits::max_files.
FileTree files_below(const Files& files, const std::string& folder);
/// Only what lies in the folder itself; its folders are left out.
FileTree files_in(const Files& files, const std::string& folder);

}  // namespace tare
