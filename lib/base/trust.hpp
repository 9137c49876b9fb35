// Who can write a file that is about to be opened as code.
#pragma once

#include <string>

namespace tare {

/// Why the file at `path`, where one is, may not run as a part of `own`; empty where it may. It has to be the user's,
/// root's or that of the owner of `own`, and nobody else may be able to write it, the folder that it is in, or one
/// above, up to the first that holds `own`, too: whoever writes a folder above that can replace `own` itself.
/// REQUIRES: absolute paths without links, dots or repeated slashes.
std::string distrust(const std::string& path, const std::string& own);

}  // namespace tare
