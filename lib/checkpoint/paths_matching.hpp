// Paths with wildcards that no shell has made names of: in object stores, and behind quotes.
#pragma once

#include <string>
#include <vector>

#include "lib/base/files.hpp"

namespace tare {

/// What is called as `pattern` says, in which `*` and `?` stand for characters of one name, in natural order; names
/// that begin with a dot only where the pattern's do. `root_bytes`: so much of it is where to begin, and never a
/// wildcard. A name that is the pattern's to the letter is meant alone. Throws `not_found` where nothing is.
std::vector<std::string> paths_matching(const Files& files, const std::string& pattern, std::size_t root_bytes);

/// The same of the file system, where a shell has had its turn: of a path that is there, and of a pattern that nothing
/// is called by, itself.
std::vector<std::string> local_paths_matching(const Files& files, const std::string& pattern);

}  // namespace tare
