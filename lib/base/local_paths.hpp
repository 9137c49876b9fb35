// Folders and links of this machine. (std::filesystem allocates in functions that may not throw, and ends the process
// where memory runs out; or tells of that as of a path that leads nowhere.)
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/base/files.hpp"

namespace tare {

/// Adds the entries of `folder` to `into`, up to `most` of them, in any order. 0, or the errno of what failed.
int list_folder(const std::string& folder, std::size_t most, std::vector<FileEntry>& into);

/// The same of an open folder, whose descriptor stays open.
int list_folder(int descriptor, std::size_t most, std::vector<FileEntry>& into);

/// `path` without links, dots and repeated slashes, as realpath(3). 0, or the errno of what failed; of ENOMEM, which
/// says nothing about the path, std::bad_alloc.
int resolve_path(const std::string& path, std::string& into);

}  // namespace tare
